package ggufwrite_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/golden"
)

// TestRewrite reads a file that another engine wrote, writes it again and
// compares all it holds.
func TestRewrite(t *testing.T) {
	a, err := gguf.Open(filepath.Join(golden.Dir(t), "models", "qwen3.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var kvs []ggufwrite.KV
	for _, key := range a.Keys() {
		kvs = append(kvs, ggufwrite.KV{Key: key, Value: value(t, a, key)})
	}
	var tensors []ggufwrite.Tensor
	for i, ti := range a.Tensors {
		data, err := a.Data(ti)
		if err != nil {
			t.Fatal(err)
		}
		w := ggufwrite.Tensor{Name: ti.Name, Type: ti.Type, Dims: ti.Dims, Data: data}
		if i%2 == 1 {
			w.Data = nil
			w.Gen = func(w io.Writer) error { _, err := w.Write(data); return err }
		}
		tensors = append(tensors, w)
	}
	var buf bytes.Buffer
	if err := ggufwrite.Write(&buf, kvs, tensors); err != nil {
		t.Fatal(err)
	}
	b, err := gguf.Parse(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if b.Version != 3 || !slices.Equal(a.Keys(), b.Keys()) || len(a.Tensors) != len(b.Tensors) {
		t.Fatalf("version %d, %d keys, %d tensors", b.Version, len(b.Keys()), len(b.Tensors))
	}
	for _, key := range a.Keys() {
		ka, ea, na, _ := a.KindOf(key)
		kb, eb, nb, _ := b.KindOf(key)
		if ka != kb || ea != eb || na != nb {
			t.Errorf("%s: %v of %d %v became %v of %d %v", key, ka, na, ea, kb, nb, eb)
		}
	}
	for i, ta := range a.Tensors {
		tb := b.Tensors[i]
		da, _ := a.Data(ta)
		db, err := b.Data(tb)
		if err != nil || ta.Name != tb.Name || ta.Type != tb.Type || !slices.Equal(ta.Dims, tb.Dims) || !bytes.Equal(da, db) {
			t.Errorf("%s: %+v became %+v, %v", ta.Name, ta, tb, err)
		}
	}
}

// value reads a key in the type that writes the same kind.
func value(t *testing.T, f *gguf.File, key string) any {
	t.Helper()
	kind, elem, _, _ := f.KindOf(key)
	pick := func(v any, err error) any {
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch {
	case kind == gguf.KindUint32:
		return pick(f.Uint32(key))
	case kind == gguf.KindInt32:
		return pick(f.Int32(key))
	case kind == gguf.KindFloat32:
		return pick(f.Float32(key))
	case kind == gguf.KindBool:
		return pick(f.Bool(key))
	case kind == gguf.KindString:
		return pick(f.String(key))
	case elem == gguf.KindString:
		return pick(f.Strings(key))
	case elem == gguf.KindInt32:
		return pick(f.Ints(key))
	case elem == gguf.KindFloat32:
		return pick(f.Float32s(key))
	}
	t.Fatalf("%s is a %v of %v: not foreseen here", key, kind, elem)
	return nil
}

func TestWriteErrors(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		kv   ggufwrite.KV
		t    ggufwrite.Tensor
		text string
	}{
		"short":   {t: ggufwrite.Tensor{Name: "w", Dims: []uint64{4}, Data: make([]byte, 15)}, text: `tensor "w": 15 bytes given`},
		"long":    {t: ggufwrite.Tensor{Name: "w", Dims: []uint64{4}, Data: make([]byte, 17)}, text: `17 bytes given`},
		"block":   {t: ggufwrite.Tensor{Name: "w", Type: 8, Dims: []uint64{33}}, text: "does not fill blocks of 32"},
		"no dims": {t: ggufwrite.Tensor{Name: "w"}, text: "does not fill blocks"},
		"type":    {t: ggufwrite.Tensor{Name: "w", Type: 5, Dims: []uint64{32}}, text: "unknown type 5"},
		"gen":     {t: ggufwrite.Tensor{Name: "w", Dims: []uint64{1}, Gen: func(io.Writer) error { return own }}, text: "own"},
		"value":   {kv: ggufwrite.KV{Key: "k", Value: 1i}, t: ggufwrite.Tensor{Name: "w", Dims: []uint64{1}, Data: make([]byte, 4)}, text: `key "k": a complex128 can't be written`},
	} {
		kvs := []ggufwrite.KV{{Key: "a", Value: uint8(1)}}
		if c.kv.Key != "" {
			kvs = append(kvs, c.kv)
		}
		err := ggufwrite.Write(io.Discard, kvs, []ggufwrite.Tensor{c.t})
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
	full := func(n int) error {
		return ggufwrite.Write(&limited{n}, nil, []ggufwrite.Tensor{{Name: "w", Dims: []uint64{1 << 20}, Data: make([]byte, 4<<20)}})
	}
	if err := full(1 << 20); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
	if err := full(5 << 20); err != nil {
		t.Error(err)
	}
}

// limited is a writer with room for so many bytes.
type limited struct{ room int }

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.room {
		return 0, io.ErrShortWrite
	}
	l.room -= len(b)
	return len(b), nil
}
