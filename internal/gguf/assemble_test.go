package gguf_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// made gives each tensor bytes of its name; of "short" too few.
type made struct{ closed int }

func (m *made) ReadTensor(name string, fn func([]byte) error) error {
	n := map[string]int{"a": 4, "b": 34, "short": 7}[name]
	return fn(bytes.Repeat([]byte(name[:1]), n))
}

func (m *made) Made(string) uint64 { return 0 }

func (m *made) Close() error { m.closed++; return nil }

func TestAssemble(t *testing.T) {
	var head bytes.Buffer
	total, err := ggufwrite.Header(&head, []ggufwrite.KV{{Key: "general.name", Value: "x"}}, []ggufwrite.Tensor{
		{Name: "a", Type: 0, Dims: []uint64{1}}, {Name: "b", Type: 8, Dims: []uint64{32}}, {Name: "short", Type: 24, Dims: []uint64{8}},
	})
	if err != nil || total != uint64(head.Len())+32+64+32 {
		t.Fatalf("a header of %d bytes for %d: %v", head.Len(), total, err)
	}
	src := &made{}
	f, err := gguf.Assemble(head.Bytes(), total, src)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.String("general.name"); s != "x" || err != nil {
		t.Errorf("name %q %v", s, err)
	}
	b, _ := f.Tensor("b")
	if data, err := f.Data(b); err != nil || !bytes.Equal(data, bytes.Repeat([]byte("b"), 34)) {
		t.Errorf("b: %q %v", data, err)
	}
	f.Drop(b)
	stop := errors.New("stop")
	if err := f.ReadTensor(b, func([]byte) error { return stop }); err != stop {
		t.Errorf("the callback's error came as %v", err)
	}
	short, _ := f.Tensor("short")
	if _, err := f.Data(short); err == nil {
		t.Error("7 bytes were taken for 8")
	}
	b.Size-- // no tensor of the file any more
	if _, err := f.Data(b); !errors.Is(err, gguf.ErrTruncated) {
		t.Errorf("a made-up tensor: %v", err)
	}
	if err := f.Close(); err != nil || src.closed != 1 {
		t.Errorf("closed %d times: %v", src.closed, err)
	}
	if _, err := f.Data(short); !errors.Is(err, gguf.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	for n := range head.Len() { // the last bytes are padding
		if _, err := gguf.Assemble(head.Bytes()[:n], total, src); err == nil && n < head.Len()-32 {
			t.Errorf("a header cut to %d bytes was taken", n)
		}
	}
}
