package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// part describes one file of a set.
type part struct {
	no, count any // numbers of any kind, nil: no key
	tensors   any
	arch      string
	names     []string // of tensors, each of 4 bytes that hold its name
}

func (p part) bytes(t *testing.T) []byte {
	t.Helper()
	var kvs []ggufwrite.KV
	for _, kv := range []ggufwrite.KV{{Key: "split.no", Value: p.no}, {Key: "split.count", Value: p.count}, {Key: "split.tensors.count", Value: p.tensors}} {
		if kv.Value != nil {
			kvs = append(kvs, kv)
		}
	}
	if p.arch != "" {
		kvs = append(kvs, ggufwrite.KV{Key: "general.architecture", Value: p.arch})
	}
	var list []ggufwrite.Tensor
	for _, n := range p.names {
		list = append(list, ggufwrite.Tensor{Name: n, Type: 24, Dims: []uint64{4}, Data: append([]byte(n), 0, 0, 0)[:4]})
	}
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, kvs, list); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// set is a good one of three parts.
func set() []part {
	return []part{
		{uint16(0), uint16(3), int32(4), "llama", []string{"d", "a"}},
		{uint16(1), uint16(3), int32(4), "", []string{"c"}},
		{uint16(2), uint16(3), int32(4), "llama", []string{"b"}},
	}
}

func partFile(i, n int) string { return fmt.Sprintf("m-%05d-of-%05d.gguf", i+1, n) }

func TestSplit(t *testing.T) {
	dir, mem := t.TempDir(), fstest.MapFS{}
	for i, p := range set() {
		b := p.bytes(t)
		mem[partFile(i, 3)] = &fstest.MapFile{Data: b}
		if err := os.WriteFile(filepath.Join(dir, partFile(i, 3)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range []func() (*gguf.File, error){
		func() (*gguf.File, error) { return gguf.Open(filepath.Join(dir, partFile(0, 3))) },
		func() (*gguf.File, error) { return gguf.OpenFS(mem, partFile(0, 3)) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Tensors) != 4 {
			t.Fatalf("%d tensors", len(f.Tensors))
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			info, ok := f.Tensor(name)
			view, err := f.Data(info)
			if !ok || err != nil || string(view) != name+"\x00\x00\x00" {
				t.Errorf("%s: %v %q %v", name, ok, view, err)
			}
			if err := f.ReadTensor(info, func(b []byte) error {
				f.Drop(info)
				if string(b) != name+"\x00\x00\x00" {
					t.Errorf("%s: read %q", name, b)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		c, _ := f.Tensor("c")
		for _, far := range []uint64{c.Offset - 32, c.Offset + 32, f.Size(), 1<<64 - 1} { // a header, another's, nobody's
			if _, err := f.Data(gguf.TensorInfo{Name: "made up", Offset: far, Size: 8}); !errors.Is(err, gguf.ErrTruncated) {
				t.Errorf("8 bytes at %d of %d: %v", far, f.Size(), err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Data(c); !errors.Is(err, gguf.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestSplitRefused: one change each to a good set.
func TestSplitRefused(t *testing.T) {
	for _, c := range []struct {
		what string
		edit func(s []part)
		miss int // part that is left out; 0: none
		part int // that the error names, from 1
		want error
	}{
		{"missing part", func([]part) {}, 2, 2, gguf.ErrMissing},
		{"count", func(s []part) { s[1].count = uint16(4) }, 0, 2, gguf.ErrMixed},
		{"number", func(s []part) { s[2].no = uint16(1) }, 0, 3, gguf.ErrMixed},
		{"number beyond the count", func(s []part) { s[2].no = uint16(3) }, 0, 3, gguf.ErrInvalid},
		{"tensors said otherwise", func(s []part) { s[1].tensors = int32(5) }, 0, 2, gguf.ErrMixed},
		{"fewer tensors", func(s []part) { s[1].names = nil }, 0, 1, gguf.ErrInvalid},
		{"more tensors", func(s []part) { s[1].names = []string{"c", "e"} }, 0, 1, gguf.ErrInvalid},
		{"a tensor twice", func(s []part) { s[1].names = []string{"a"} }, 0, 1, gguf.ErrDuplicate},
		{"another model", func(s []part) { s[2].arch = "qwen3" }, 0, 3, gguf.ErrMixed},
		{"no part", func(s []part) { s[1].no, s[1].count, s[1].tensors = nil, nil, nil }, 0, 2, gguf.ErrMixed},
		{"not the first", func(s []part) { s[0].no = uint16(1) }, 0, 1, gguf.ErrInvalid},
		{"name of another count", func(s []part) { s[0].count = uint16(2) }, 0, 1, gguf.ErrInvalid},
		{"no count", func(s []part) { s[0].count = uint16(0) }, 0, 1, gguf.ErrInvalid},
		{"too many", func(s []part) { s[0].count = uint16(2000) }, 0, 1, gguf.ErrInvalid},
		{"the name alone", func(s []part) { s[0].count = nil }, 0, 1, gguf.ErrInvalid},
	} {
		s, mem := set(), fstest.MapFS{}
		c.edit(s)
		for i, p := range s {
			if i+1 != c.miss {
				mem[partFile(i, 3)] = &fstest.MapFile{Data: p.bytes(t)}
			}
		}
		_, err := gguf.OpenFS(mem, partFile(0, 3))
		var split *gguf.SplitError
		if !errors.As(err, &split) || !errors.Is(err, c.want) || split.Part != partFile(c.part-1, 3) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.what, err)
		}
		if errors.Is(err, fs.ErrNotExist) != (c.miss > 0) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// A count of a wrong kind, a part that is none, a name that tells nothing.
	bad := set()
	bad[1].count = "3"
	mem := fstest.MapFS{partFile(0, 3): {Data: bad[0].bytes(t)}, partFile(1, 3): {Data: bad[1].bytes(t)}}
	var fe *gguf.FormatError
	if _, err := gguf.OpenFS(mem, partFile(0, 3)); !errors.As(err, &fe) {
		t.Errorf("a count that is text: %v", err)
	}
	mem[partFile(1, 3)] = &fstest.MapFile{Data: []byte("GGUF")}
	if _, err := gguf.OpenFS(mem, partFile(0, 3)); !errors.Is(err, gguf.ErrTruncated) {
		t.Errorf("a part that is cut short: %v", err)
	}
	mem["m.gguf"] = mem[partFile(0, 3)]
	var split *gguf.SplitError
	if _, err := gguf.OpenFS(mem, "m.gguf"); !errors.As(err, &split) {
		t.Errorf("a first part of another name: %v", err)
	}
	// A set of one part is a file like any other, whatever its name.
	one := part{uint16(0), uint16(1), int32(1), "", []string{"a"}}
	if f, err := gguf.OpenFS(fstest.MapFS{"x": {Data: one.bytes(t)}}, "x"); err != nil || len(f.Tensors) != 1 {
		t.Errorf("one part: %v", err)
	}
}
