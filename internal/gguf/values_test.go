package gguf_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

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
