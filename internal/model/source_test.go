package model

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/quant"
)

func TestSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, makeFile("llama").bytes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src := NewSource(f)
	for range 2 { // the second time from dropped pages
		if err := src.Read("blk.1.ffn_down.weight", func(x backend.Tensor) error {
			if x.Name != "blk.1.ffn_down.weight" || x.Type != quant.F32 || x.Rows != 32 || x.Cols != 48 || len(x.Data) != 4*32*48 {
				t.Errorf("read %s, %v, %d×%d, %d bytes", x.Name, x.Type, x.Rows, x.Cols, len(x.Data))
			}
			for i, b := range x.Data {
				if b != []byte{0, 0, 0x80, 0x3f}[i%4] {
					t.Fatalf("byte %d is %#x", i, b)
				}
			}
			x.Drop(0, len(x.Data))
			x.Drop(-1, 5) // out of range: nothing
			x.Drop(0, len(x.Data)+1)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := src.Read("none", nil); err == nil {
		t.Error("a tensor that is not there was read")
	}
	stop := errors.New("stop")
	if err := src.Read("output_norm.weight", func(backend.Tensor) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the callback's error", err)
	}
}

// TestSourceCut cuts the file short while it is mapped.
func TestSourceCut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are read into memory there")
	}
	m := makeFile("llama")
	m.tensor("zz", 64, 4096) // so that whole pages go
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, m.bytes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	var fault *gguf.FaultError
	if err := NewSource(f).Read("zz", func(x backend.Tensor) error {
		sum := byte(0)
		for _, b := range x.Data {
			sum += b
		}
		t.Errorf("read to the end: %d", sum)
		return nil
	}); !errors.As(err, &fault) {
		t.Errorf("got %v, want a FaultError", err)
	}
}
