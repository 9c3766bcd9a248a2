//go:build linux || darwin

package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// bigFile writes a file with a tensor of n bytes behind a small one.
func bigFile(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = ggufwrite.Write(out, []ggufwrite.KV{{Key: "general.name", Value: "big"}}, []ggufwrite.Tensor{
		{Name: "small", Type: 24, Dims: []uint64{16}, Data: make([]byte, 16)},
		{Name: "big", Type: 24, Dims: []uint64{uint64(n)}, Gen: func(w io.Writer) error {
			_, err := w.Write(bytes.Repeat([]byte{7}, n))
			return err
		}},
	})
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// sum touches every byte, as a decoder does.
func sum(total *int) func([]byte) error {
	return func(data []byte) error {
		for _, b := range data {
			*total += int(b)
		}
		return nil
	}
}

// TestFileCutShortWhileMapped: the reader of a tensor whose bytes are gone gets
// an error that names it, through plain loads and through the runtime's copy;
// the process, the keys and the tensors that are still there live on.
func TestFileCutShortWhileMapped(t *testing.T) {
	const n = 1 << 20
	path := bigFile(t, n)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big, _ := f.Tensor("big")
	small, _ := f.Tensor("small")
	total := 0
	if err := f.ReadTensor(big, sum(&total)); err != nil || total != 7*n {
		t.Fatalf("whole: sum %d, %v", total, err)
	}
	const kept = 64 << 10
	if err := os.Truncate(path, kept); err != nil {
		t.Fatal(err)
	}
	copied := make([]byte, n)
	for name, fn := range map[string]func([]byte) error{
		"loads": sum(new(int)),
		"copy":  func(data []byte) error { copy(copied, data); return nil },
	} {
		err := f.ReadTensor(big, fn)
		var fault *gguf.FaultError
		if !errors.As(err, &fault) || !errors.Is(err, gguf.ErrTruncated) {
			t.Fatalf("%s: %v", name, err)
		}
		if fault.Name != "big" || fault.Offset < kept || fault.Offset >= big.Offset+big.Size || fault.Size != f.Size() {
			t.Errorf("%s: %+v", name, fault)
		}
		if !strings.Contains(err.Error(), `tensor "big"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	total = 0
	if err := f.ReadTensor(small, sum(&total)); err != nil || total != 0 {
		t.Errorf("the tensor that is still there: sum %d, %v", total, err)
	}
	if s, err := f.String("general.name"); s != "big" || err != nil {
		t.Errorf("a key: %q, %v", s, err)
	}
}

// TestOtherPanicsPass: a bug in a callback is not taken for a faulty file.
func TestOtherPanicsPass(t *testing.T) {
	f, err := gguf.Open(bigFile(t, 4096))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big, _ := f.Tensor("big")
	for name, fn := range map[string]func([]byte) error{
		"index": func(data []byte) error { i := len(data); return errors.New(string(data[i])) },
		"nil":   func([]byte) error { var p *int; *p = 1; return nil },
		"value": func([]byte) error { panic("own") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			err := f.ReadTensor(big, fn)
			t.Errorf("%s: returned %v", name, err)
		}()
	}
	// The lock is free again.
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenRefusesPipe: opening one would wait for a writer.
func TestOpenRefusesPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if _, err := gguf.Open(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}
