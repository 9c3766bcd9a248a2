package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
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

// all holds a key of each kind.
func all(t *testing.T) *gguf.File {
	t.Helper()
	var buf bytes.Buffer
	err := ggufwrite.Write(&buf, []ggufwrite.KV{
		{Key: "u8", Value: uint8(200)}, {Key: "i8", Value: int8(-100)}, {Key: "u16", Value: uint16(60000)}, {Key: "i16", Value: int16(-30000)},
		{Key: "u32", Value: uint32(4e9)}, {Key: "i32", Value: int32(-2e9)}, {Key: "u64", Value: uint64(math.MaxUint64)}, {Key: "i64", Value: int64(-5e18)},
		{Key: "small64", Value: uint64(7)}, {Key: "f32", Value: float32(1.5)}, {Key: "f64", Value: 0.1}, {Key: "huge", Value: 1e300}, {Key: "inf", Value: math.Inf(1)},
		{Key: "yes", Value: true}, {Key: "no", Value: false}, {Key: "s", Value: "\xff text"}, {Key: "empty", Value: ""},
		{Key: "ss", Value: []string{"", "x", "yy"}}, {Key: "bs", Value: []bool{true, false}}, {Key: "i32s", Value: []int32{-1, 2}},
		{Key: "u8s", Value: []uint8{1, 255}}, {Key: "u64s", Value: []uint64{1, 1 << 40}}, {Key: "f32s", Value: []float32{1, -2}}, {Key: "f64s", Value: []float64{1e39}},
		{Key: "i16s", Value: []int16{-3}}, {Key: "none", Value: []uint32{}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestValues(t *testing.T) {
	f := all(t)
	is := func(key string, got, want any, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", key, got, err, want)
		}
	}
	for key, want := range map[string]uint32{"u8": 200, "u16": 60000, "u32": 4e9, "small64": 7} {
		got, err := f.Uint32(key)
		is(key, got, want, err)
	}
	for key, want := range map[string]int32{"u8": 200, "i8": -100, "u16": 60000, "i16": -30000, "i32": -2e9, "small64": 7} {
		got, err := f.Int32(key)
		is(key, got, want, err)
	}
	for key, want := range map[string]float32{"f32": 1.5, "f64": 0.1, "inf": float32(math.Inf(1))} {
		got, err := f.Float32(key)
		is(key, got, want, err)
	}
	for key, want := range map[string]bool{"yes": true, "no": false} {
		got, err := f.Bool(key)
		is(key, got, want, err)
	}
	for key, want := range map[string]string{"s": "\xff text", "empty": ""} {
		got, err := f.String(key)
		is(key, got, want, err)
	}
	for key, want := range map[string]uint64{"ss": 3, "bs": 2, "none": 0} {
		got, err := f.Len(key)
		is(key, got, want, err)
	}
	if got, err := f.Strings("ss"); err != nil || !slices.Equal(got, []string{"", "x", "yy"}) {
		t.Errorf("ss: %q, %v", got, err)
	}
	if got, err := f.Bools("bs"); err != nil || !slices.Equal(got, []bool{true, false}) {
		t.Errorf("bs: %v, %v", got, err)
	}
	for key, want := range map[string][]int32{"i32s": {-1, 2}, "u8s": {1, 255}, "i16s": {-3}, "none": {}} {
		if got, err := f.Ints(key); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if got, err := f.Float32s("f32s"); err != nil || !slices.Equal(got, []float32{1, -2}) {
		t.Errorf("f32s: %v, %v", got, err)
	}
	if kind, elem, n, ok := f.KindOf("ss"); kind != gguf.KindArray || elem != gguf.KindString || n != 3 || !ok {
		t.Errorf("ss: %v of %v, %d, %v", kind, elem, n, ok)
	}
	if kind, _, _, ok := f.KindOf("f64"); kind != gguf.KindFloat64 || !ok {
		t.Errorf("f64: %v, %v", kind, ok)
	}
	if !f.Has("u8") || f.Has("u9") || f.Has("") {
		t.Error("Has is wrong")
	}
	for i, err := range []error{
		func() error { v, err := f.Uint32Or("x", 5); is("x", v, uint32(5), err); return err }(),
		func() error { v, err := f.Int32Or("x", -5); is("x", v, int32(-5), err); return err }(),
		func() error { v, err := f.Float32Or("x", 5); is("x", v, float32(5), err); return err }(),
		func() error { v, err := f.BoolOr("x", true); is("x", v, true, err); return err }(),
		func() error { v, err := f.StringOr("x", "d"); is("x", v, "d", err); return err }(),
		func() error { v, err := f.Uint32Or("u8", 5); is("u8", v, uint32(200), err); return err }(),
	} {
		if err != nil {
			t.Errorf("default %d: %v", i, err)
		}
	}
}

func TestValueErrors(t *testing.T) {
	f := all(t)
	err := func(_ any, err error) error { return err }
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{err(f.Uint32("x")), gguf.ErrMissing, `gguf: "x": an integer: missing`},
		{err(f.Uint32("i8")), gguf.ErrInvalid, `"i8": value -100: value not allowed (0 to 4294967295)`},
		{err(f.Uint32("u64")), gguf.ErrInvalid, `value 18446744073709551615: value not allowed`},
		{err(f.Int32("u32")), gguf.ErrInvalid, `value 4000000000: value not allowed (-2147483648 to 2147483647)`},
		{err(f.Uint32("s")), gguf.ErrType, `gguf: "s": value of type string where an integer is wanted: wrong type`},
		{err(f.Uint32("ss")), gguf.ErrType, `"ss": value of type array of 3 string where an integer is wanted`},
		{err(f.Uint32Or("f32", 1)), gguf.ErrType, `"f32": value of type float32 where an integer is wanted`},
		{err(f.Float32("u8")), gguf.ErrType, `"u8": value of type uint8 where a float is wanted`},
		{err(f.Float32("huge")), gguf.ErrInvalid, `"huge": value 1e+300, too large for a float32`},
		{err(f.Bool("u8")), gguf.ErrType, `where a bool is wanted`},
		{err(f.String("u8")), gguf.ErrType, `where a string is wanted`},
		{err(f.Strings("s")), gguf.ErrType, `value of type string where an array of strings is wanted`},
		{err(f.Strings("i32s")), gguf.ErrType, `array of 2 int32 where an array of strings is wanted`},
		{err(f.Strings("x")), gguf.ErrMissing, `"x": an array of strings: missing`},
		{err(f.Ints("u64s")), gguf.ErrInvalid, `"u64s[1]": value 1099511627776`},
		{err(f.Ints("f32s")), gguf.ErrType, `an array of integers`},
		{err(f.Bools("u8s")), gguf.ErrType, `an array of bools`},
		{err(f.Float32s("f64s")), gguf.ErrInvalid, `"f64s": value 1e+39`},
		{err(f.Len("u8")), gguf.ErrType, `an array`},
	} {
		var fe *gguf.FormatError
		if !errors.As(c.err, &fe) || !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("got %v, want %v with %q", c.err, c.is, c.text)
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
	open := allocated(func() { f, _ = gguf.Parse(data) })
	if f == nil || open > uint64(len(data))+16<<10 {
		t.Errorf("a file of %d bytes costs %d to open", len(data), open)
	}
	var got []string
	if list := allocated(func() { got, _ = f.Strings("t") }); list > n*16+16<<10 {
		t.Errorf("%d tokens cost %d bytes beside the file", n, list)
	}
	if !slices.Equal(got, tokens) {
		t.Error("the tokens are not what was written")
	}
}
