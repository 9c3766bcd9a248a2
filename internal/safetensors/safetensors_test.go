package safetensors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/filemap"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// file is a header and n bytes of data that count up.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

const two = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]},"a":{"data_offsets":[0,6],"dtype":"BF16","shape":[3,1]}}`

func TestGoodFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, file(two+"   ", 14), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := filemap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.New(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Tensors) != 2 || f.Tensors[0].Name != "a" || f.Tensors[0].Type != safetensors.BF16 || fmt.Sprint(f.Tensors[0].Shape) != "[3 1]" || f.Tensors[0].Elems() != 3 {
		t.Fatalf("%+v", f.Tensors)
	}
	b, ok := f.Tensor("b")
	if !ok || b.Size != 8 {
		t.Fatalf("b: %+v %v", b, ok)
	}
	for range 2 { // the second time from dropped pages
		if err := f.Read(b, func(data []byte) error {
			if string(data) != "\x06\x07\x08\x09\x0a\x0b\x0c\x0d" {
				t.Errorf("b holds %x", data)
			}
			f.Drop(b)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if _, ok := f.Tensor("c"); ok {
		t.Error("found a tensor that is not there")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Read(b, func([]byte) error { return nil }); !errors.Is(err, filemap.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestRefused: each file has one fault.
func TestRefused(t *testing.T) {
	one := func(fields string) string { return `{"a":{` + fields + `}}` }
	for _, c := range []struct {
		what   string
		header string
		data   int
		want   error
	}{
		{"not an object", `[]`, 0, safetensors.ErrInvalid},
		{"blank before it", ` {}`, 0, safetensors.ErrInvalid},
		{"not UTF-8", "{\"\xff\":1}", 0, safetensors.ErrInvalid},
		{"not closed", `{"a":{"dtype":"F32"`, 0, safetensors.ErrInvalid},
		{"something behind", `{}{}`, 0, safetensors.ErrInvalid},
		{"a tab behind", "{}\t", 0, safetensors.ErrInvalid},
		{"comma at the end", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4],`), 4, safetensors.ErrInvalid},
		{"unknown field", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1`), 4, safetensors.ErrInvalid},
		{"missing field", one(`"dtype":"F32","data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"field twice", one(`"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]`), 4, safetensors.ErrDuplicate},
		{"tensor twice", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, safetensors.ErrDuplicate},
		{"unknown type", one(`"dtype":"F3","shape":[1],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"type no string", one(`"dtype":1,"shape":[1],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"negative", one(`"dtype":"F32","shape":[-1],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"fraction", one(`"dtype":"F32","shape":[1.0],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"exponent", one(`"dtype":"F32","shape":[1e0],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"beyond 63 bits", one(`"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"product that wraps", one(`"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,0]`), 0, safetensors.ErrInvalid},
		{"bytes that wrap", one(`"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]`), 0, safetensors.ErrInvalid},
		{"too many dimensions", one(`"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]`), 1, safetensors.ErrInvalid},
		{"three offsets", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4,8]`), 4, safetensors.ErrInvalid},
		{"offsets turned", one(`"dtype":"F32","shape":[1],"data_offsets":[4,0]`), 4, safetensors.ErrInvalid},
		{"shape and size differ", one(`"dtype":"F32","shape":[2],"data_offsets":[0,4]`), 4, safetensors.ErrInvalid},
		{"out of range", one(`"dtype":"F32","shape":[2],"data_offsets":[0,8]`), 4, safetensors.ErrTruncated},
		{"far out of range", one(`"dtype":"F32","shape":[1],"data_offsets":[9223372036854775800,9223372036854775804]`), 4, safetensors.ErrTruncated},
		{"hole", one(`"dtype":"F32","shape":[1],"data_offsets":[4,8]`), 8, safetensors.ErrInvalid},
		{"rest", one(`"dtype":"F32","shape":[1],"data_offsets":[0,4]`), 8, safetensors.ErrInvalid},
		{"overlap", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, safetensors.ErrInvalid},
		{"same bytes", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, safetensors.ErrInvalid},
		{"metadata no strings", `{"__metadata__":{"a":1}}`, 0, safetensors.ErrInvalid},
		{"empty name", `{"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, safetensors.ErrInvalid},
		{"deep", strings.Repeat(`{"a":`, 100000), 0, safetensors.ErrInvalid},
	} {
		_, err := safetensors.New(filemap.New(file(c.header, c.data)))
		var e *safetensors.Error
		if !errors.As(err, &e) || !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	for n := range len(file(two, 14)) { // cut anywhere
		if _, err := safetensors.New(filemap.New(file(two, 14)[:n])); err == nil {
			t.Errorf("taken though cut to %d bytes", n)
		}
	}
	if _, err := safetensors.New(filemap.New(append(file("", 0)[:0], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '{', '}'))); !errors.Is(err, safetensors.ErrTruncated) {
		t.Errorf("a header of 2^63 bytes: %v", err)
	}
}

// TestEmptyTensors take no bytes and stand anywhere.
func TestEmptyTensors(t *testing.T) {
	f, err := safetensors.New(filemap.New(file(`{"a":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4)))
	if err != nil || f.Tensors[0].Elems() != 0 || f.Tensors[1].Elems() != 1 {
		t.Fatalf("%v %v", f, err)
	}
}

func TestFileCutShort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are read into memory there")
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	const n = 1 << 20
	if err := os.WriteFile(path, file(fmt.Sprintf(`{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n), n), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := filemap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.New(m)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = f.Read(f.Tensors[0], func(data []byte) error {
		for _, b := range data {
			sum += int(b)
		}
		return nil
	})
	var e *safetensors.Error
	if !errors.As(err, &e) || e.Tensor != "a" || !errors.Is(err, safetensors.ErrTruncated) {
		t.Errorf("sum %d, %v", sum, err)
	}
}

// folder loads from memory.
func folder(files map[string]string) func(string) (*filemap.Map, error) {
	return func(name string) (*filemap.Map, error) {
		s, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return filemap.New([]byte(s)), nil
	}
}

func TestSet(t *testing.T) {
	a := string(file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1))
	bc := string(file(`{"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"c":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3))
	const index = `{"metadata":{"total_size":4,"by":"x"},"weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"}}`
	read := func(files map[string]string) (*safetensors.Set, error) { return safetensors.OpenSet(folder(files)) }
	s, err := read(map[string]string{safetensors.IndexName: index + "\n", "1.safetensors": a, "2.safetensors": bc})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Names()); got != "[a b c]" {
		t.Errorf("names %s", got)
	}
	for name, want := range map[string]string{"a": "\x00", "b": "\x00\x01", "c": "\x02"} {
		if err := s.Read(name, func(x safetensors.Tensor, data []byte) error {
			if x.Name != name || string(data) != want {
				t.Errorf("%s is %q of %s", name, data, x.Name)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		s.Drop(name)
	}
	if err := s.Read("d", nil); !errors.Is(err, safetensors.ErrMissing) {
		t.Errorf("d: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err := read(map[string]string{safetensors.SingleName: bc}); err != nil || len(s.Names()) != 2 {
		t.Errorf("a single file: %v", err)
	}
	for what, c := range map[string]struct {
		files map[string]string
		want  error
		file  string
	}{
		"nothing":             {map[string]string{}, safetensors.ErrMissing, safetensors.SingleName},
		"a file less":         {map[string]string{safetensors.IndexName: index, "1.safetensors": a}, safetensors.ErrMissing, "2.safetensors"},
		"files exchanged":     {map[string]string{safetensors.IndexName: index, "1.safetensors": bc, "2.safetensors": a}, safetensors.ErrMissing, "1.safetensors"},
		"a file cut short":    {map[string]string{safetensors.IndexName: index, "1.safetensors": a, "2.safetensors": bc[:len(bc)-1]}, safetensors.ErrTruncated, "2.safetensors"},
		"another folder":      {map[string]string{safetensors.IndexName: `{"weight_map":{"a":"../1.safetensors"}}`}, safetensors.ErrInvalid, safetensors.IndexName},
		"a name of two lines": {map[string]string{safetensors.IndexName: `{"weight_map":{"a":"1\n.safetensors"}}`}, safetensors.ErrInvalid, safetensors.IndexName},
		"no map":              {map[string]string{safetensors.IndexName: `{"metadata":{}}`}, safetensors.ErrMissing, safetensors.IndexName},
		"a tensor twice":      {map[string]string{safetensors.IndexName: `{"weight_map":{"a":"1.safetensors","a":"2.safetensors"}}`}, safetensors.ErrDuplicate, safetensors.IndexName},
		"metadata that nest":  {map[string]string{safetensors.IndexName: `{"metadata":{"a":[]},"weight_map":{}}`}, safetensors.ErrInvalid, safetensors.IndexName},
	} {
		_, err := read(c.files)
		var e *safetensors.Error
		if !errors.As(err, &e) || !errors.Is(err, c.want) || e.File != c.file || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add(file(two, 14))
	f.Add(file(`{}`, 0))
	f.Add(file(`{"a":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}}`, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s *safetensors.File
		var err error
		bounded.Hold(t, bounded.Bytes{Base: 256 << 10, Each: 32}, len(data), func() { s, err = safetensors.New(filemap.New(data)) })
		if err != nil {
			var e *safetensors.Error
			if !errors.As(err, &e) || e.What == "" || len(e.Tensor) > 64 {
				t.Fatalf("not a typed error: %#v", err)
			}
			return
		}
		total := uint64(0)
		for _, x := range s.Tensors {
			total += x.Size
			if err := s.Read(x, func(b []byte) error {
				if uint64(len(b)) != x.Size {
					t.Fatalf("%q: %d bytes of %d", x.Name, len(b), x.Size)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if total > uint64(len(data)) {
			t.Fatalf("tensors of %d bytes in a file of %d", total, len(data))
		}
	})
}
