package gguf_test

import (
	"errors"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/gguf"
)

// parsing is what a reader's tables take of a file: the shortest key has 13 bytes.
var parsing = bounded.Bytes{Base: 256 << 10, Each: 32}

// FuzzParse: whatever the bytes, the reader answers with a typed error or with
// a file whose every key and tensor can be read and lies within the bytes.
func FuzzParse(f *testing.F) {
	for version := uint32(1); version <= 3; version++ {
		f.Add(goodFile(version))
	}
	for _, a := range attacks() {
		if len(a.file) < 4096 {
			f.Add(a.file)
		}
	}
	f.Add(file(3, 1, 1).key("general.alignment", gguf.KindUint32).u32(64).tensor("w", 30, 64, 16).pad(64, 96).b)
	f.Add(file(3, 0, 1).key("k", gguf.KindArray).kind(gguf.KindArray).u64(2).kind(gguf.KindString).u64(1).str("x").kind(gguf.KindInt8).u64(0).b)
	f.Fuzz(func(t *testing.T, data []byte) {
		var g *gguf.File
		var err error
		bounded.Hold(t, parsing, len(data), func() { g, err = gguf.Parse(data) })
		if err != nil {
			typed(t, err)
			return
		}
		for _, key := range g.Keys() {
			readAll(t, g, key, len(data))
		}
		var sum uint64
		for _, ti := range g.Tensors {
			b, err := g.Data(ti)
			if err != nil || uint64(len(b)) != ti.Size || ti.Elems() == 0 || ti.Offset%g.Alignment != 0 {
				// Offsets are aligned from the data's start, which is aligned itself.
				t.Fatalf("%+v: %d bytes, %v", ti, len(b), err)
			}
			if same, ok := g.Tensor(ti.Name); !ok || same.Offset != ti.Offset {
				t.Fatalf("%q finds %+v", ti.Name, same)
			}
			sum += ti.Size
		}
		if sum > uint64(len(data)) {
			t.Fatalf("tensors of %d bytes in a file of %d", sum, len(data))
		}
	})
}

func typed(t *testing.T, err error) {
	t.Helper()
	var fe *gguf.FormatError
	if !errors.As(err, &fe) || err.Error() == "" || fe.Err == nil || fe.What == "" || len(fe.Name) > 64+16 {
		t.Fatalf("not a typed error: %#v", err)
	}
}

// readAll reads a key through every getter: one or more may succeed, the rest
// fail with a typed error.
func readAll(t *testing.T, g *gguf.File, key string, size int) {
	t.Helper()
	if kind, _, n, ok := g.KindOf(key); !ok || !g.Has(key) || n > uint64(size) {
		t.Fatalf("%q: %v, %d, %v", key, kind, n, ok)
	}
	keep := func(_ any, err error) {
		if err != nil {
			typed(t, err)
			if errors.Is(err, gguf.ErrMissing) {
				t.Fatalf("%q is listed and missing", key)
			}
		}
	}
	keep(g.Uint32(key))
	keep(g.Int32(key))
	keep(g.Float32(key))
	keep(g.Bool(key))
	keep(g.String(key))
	keep(g.Len(key))
	keep(g.Ints(key))
	keep(g.Bools(key))
	keep(g.Float32s(key))
	list, err := g.Strings(key)
	keep(nil, err)
	n := 0
	for _, s := range list {
		n += len(s)
	}
	if n > size {
		t.Fatalf("%q: strings of %d bytes from a file of %d", key, n, size)
	}
}
