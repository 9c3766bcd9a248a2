package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/golden"
)

// goodFile is a small file with two keys and two tensors.
func goodFile(version uint32) []byte {
	r := file(version, 2, 2)
	r.key("general.name", gguf.KindString).str("tiny")
	r.key("tokens", gguf.KindArray).kind(gguf.KindString).size(2).str("a").str("bc")
	r.tensor("w", 0, 0, 4, 2).tensor("v", 8, 32, 32)
	r.pad(32, 0)
	for i := range 32 {
		r.u8(byte(i))
	}
	for i := range 34 {
		r.u8(byte(100 + i))
	}
	return r.b
}

func TestVersions(t *testing.T) {
	for version := uint32(1); version <= 3; version++ {
		f, err := gguf.Parse(goodFile(version))
		if err != nil {
			t.Fatal(err)
		}
		if f.Version != version || !slices.Equal(f.Keys(), []string{"general.name", "tokens"}) {
			t.Errorf("version %d, keys %q", f.Version, f.Keys())
		}
		if s, err := f.String("general.name"); s != "tiny" || err != nil {
			t.Errorf("name %q, %v", s, err)
		}
		if s, err := f.Strings("tokens"); !slices.Equal(s, []string{"a", "bc"}) || err != nil {
			t.Errorf("tokens %q, %v", s, err)
		}
		if len(f.Tensors) != 2 || f.Tensors[0].Name != "w" || f.Tensors[1].Name != "v" {
			t.Fatalf("tensors %v", f.Tensors)
		}
		w, ok := f.Tensor("w")
		if !ok || w.Type != 0 || !slices.Equal(w.Dims, []uint64{4, 2}) || w.Size != 32 || w.Elems() != 8 {
			t.Errorf("w: %+v, %v", w, ok)
		}
		v, ok := f.Tensor("v")
		if !ok || v.Type != 8 || v.Size != 34 {
			t.Errorf("v: %+v, %v", v, ok)
		}
		if _, ok := f.Tensor("u"); ok {
			t.Error("u was found")
		}
		if b, err := f.Data(w); err != nil || len(b) != 32 || b[31] != 31 {
			t.Errorf("w: %v, %v", b, err)
		}
		if err := f.ReadTensor(v, func(b []byte) error {
			if len(b) != 34 || b[0] != 100 || cap(b) != 34 {
				t.Errorf("v: %v", b)
			}
			return io.ErrNoProgress
		}); err != io.ErrNoProgress {
			t.Errorf("the callback's error came back as %v", err)
		}
	}
}

// TestGoldenFiles: the reader takes every file that another engine wrote, and
// all their tensors are there.
func TestGoldenFiles(t *testing.T) {
	dir := golden.Dir(t)
	var paths []string
	for _, glob := range []string{"*.gguf", "models/*.gguf", "quants/*.gguf"} {
		found, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < 50 {
		t.Fatalf("only %d files found", len(paths))
	}
	for _, path := range paths {
		f, err := gguf.Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if arch, err := f.String("general.architecture"); arch == "" || err != nil {
			t.Errorf("%s: architecture %q, %v", path, arch, err)
		}
		if tokens, err := f.Strings("tokenizer.ggml.tokens"); len(tokens) != 512 || err != nil {
			t.Errorf("%s: %d tokens, %v", path, len(tokens), err)
		}
		if len(f.Tensors) == 0 {
			t.Errorf("%s: no tensors", path)
		}
		for _, ti := range f.Tensors {
			if err := f.ReadTensor(ti, func(b []byte) error {
				if uint64(len(b)) != ti.Size || ti.Size == 0 {
					t.Errorf("%s: %s has %d bytes, want %d", path, ti.Name, len(b), ti.Size)
				}
				return nil
			}); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var fe *gguf.FormatError
	if _, err := gguf.Open(write("empty", nil)); !errors.As(err, &fe) || !errors.Is(err, gguf.ErrTruncated) {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := gguf.Open(write("bad", []byte("not a model"))); !errors.Is(err, gguf.ErrMagic) || !strings.Contains(err.Error(), `bad: gguf: magic "not "`) {
		t.Errorf("a text file: %v", err)
	}
	if _, err := gguf.Open(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := gguf.Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	f, err := gguf.Open(write("good", goodFile(3)))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := f.Tensor("w")
	f.Drop(w) // must not change what is read next
	if b, err := f.Data(w); err != nil || b[31] != 31 {
		t.Errorf("after Drop: %v, %v", b, err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Data(w); !errors.Is(err, gguf.ErrClosed) {
		t.Errorf("data of a closed file: %v", err)
	}
	if err := f.ReadTensor(w, func([]byte) error { return nil }); !errors.Is(err, gguf.ErrClosed) {
		t.Errorf("reading a closed file: %v", err)
	}
	f.Drop(w)
	if s, err := f.String("general.name"); s != "tiny" || err != nil {
		t.Errorf("keys of a closed file: %q, %v", s, err)
	}
}

func TestOpenFS(t *testing.T) {
	fsys := fstest.MapFS{"m.gguf": {Data: goodFile(3)}, "bad.gguf": {Data: []byte("x")}}
	f, err := gguf.OpenFS(fsys, "m.gguf")
	if err != nil || len(f.Tensors) != 2 || f.Size() != uint64(len(fsys["m.gguf"].Data)) {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.OpenFS(fsys, "bad.gguf"); !errors.Is(err, gguf.ErrTruncated) || !strings.Contains(err.Error(), "bad.gguf") {
		t.Errorf("a bad file: %v", err)
	}
	if _, err := gguf.OpenFS(fsys, "absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

// TestCloseWaitsForReaders: a reader that is at work while the file closes
// reads to its end, may drop what it read, and finds it closed afterwards.
func TestCloseWaitsForReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, goodFile(3), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := f.Tensor("w")
	closed := make(chan error, 1)
	if err := f.ReadTensor(w, func(data []byte) error {
		go func() { closed <- f.Close() }()
		for { // until Close has begun
			if _, err := f.Data(w); errors.Is(err, gguf.ErrClosed) {
				break
			}
			runtime.Gosched()
		}
		f.Drop(w)
		select {
		case err := <-closed:
			t.Errorf("closed under a reader: %v", err)
		default:
		}
		if data[31] != 31 {
			t.Errorf("read %v", data)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

// TestForeignTensor: a description that is not of this file reaches no byte
// outside its data.
func TestForeignTensor(t *testing.T) {
	f, err := gguf.Parse(goodFile(3))
	if err != nil {
		t.Fatal(err)
	}
	w, _ := f.Tensor("w")
	for name, change := range map[string]func(*gguf.TensorInfo){
		"size":         func(t *gguf.TensorInfo) { t.Size = math.MaxUint64 },
		"size and sum": func(t *gguf.TensorInfo) { t.Size = -t.Offset },
		"offset":       func(t *gguf.TensorInfo) { t.Offset = f.Size() + 1 },
		"offset max":   func(t *gguf.TensorInfo) { t.Offset = math.MaxUint64 },
		"header":       func(t *gguf.TensorInfo) { t.Offset = 0 },
	} {
		made := w
		change(&made)
		var fe *gguf.FormatError
		if b, err := f.Data(made); !errors.As(err, &fe) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// TestManyTokens: a large vocabulary costs its bytes, a slice of views, and
// little else.
func TestManyTokens(t *testing.T) {
	const n = 1 << 17
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = strings.Repeat("t", 1+i%12)
	}
	var buf bytes.Buffer
	if err := ggufwrite.Write(&buf, []ggufwrite.KV{{Key: "t", Value: tokens}}, nil); err != nil {
		t.Fatal(err)
	}
	data := buf.Bytes()
	var f *gguf.File
	limit := len(data) + 16<<10
	open := allocated(limit, func() { f, _ = gguf.Parse(data) })
	if f == nil || open > uint64(limit) {
		t.Errorf("a file of %d bytes costs %d to open", len(data), open)
	}
	var got []string
	limit = n*16 + 16<<10
	if list := allocated(limit, func() { got, _ = f.Strings("t") }); list > uint64(limit) {
		t.Errorf("%d tokens cost %d bytes beside the file", n, list)
	}
	if !slices.Equal(got, tokens) {
		t.Error("the tokens are not what was written")
	}
}
