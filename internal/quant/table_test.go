package quant

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	last := -1
	for _, f := range Formats() {
		if int(f.Type) <= last {
			t.Errorf("%s is out of order", f.Name)
		}
		last = int(f.Type)
		if f.Decode == nil || f.Encode == nil || f.Dot == nil || f.BlockElems < 1 || f.BlockBytes < 1 {
			t.Errorf("%s is incomplete", f.Name)
		}
		if e := f.Act.BlockElems(); f.BlockElems > 1 && e%f.BlockElems != 0 && f.BlockElems%e != 0 {
			t.Errorf("%s: blocks of %d and activations in blocks of %d", f.Name, f.BlockElems, e)
		}
		for _, name := range []string{f.Name, strings.ToUpper(f.Name), strings.ToLower(f.Name)} {
			if g, ok := ByName(name); !ok || g.Type != f.Type {
				t.Errorf("%q finds %v, %v", name, g.Type, ok)
			}
		}
		if f.Type.String() != f.Name {
			t.Errorf("%d prints as %s", uint32(f.Type), f.Type)
		}
	}
	if _, ok := ByName("q9_9"); ok {
		t.Error("q9_9 was found")
	}
	if got := Type(4).String(); got != "type 4" {
		t.Errorf("a withdrawn type prints as %q", got)
	}
	// A copy: callers can't change the table.
	Formats()[0].Name = "x"
	if _, ok := ByName("x"); ok {
		t.Error("the table was changed through a copy")
	}
}

func TestRowBytes(t *testing.T) {
	f, _ := Lookup(Q4K)
	if n, err := f.RowBytes(512); n != 288 || err != nil {
		t.Errorf("512 values: %d bytes, %v", n, err)
	}
	for _, n := range []int{-256, 1, 255} {
		if _, err := f.RowBytes(n); err == nil || !strings.Contains(err.Error(), "q4_K blocks of 256") {
			t.Errorf("%d values: %v", n, err)
		}
	}
}

// TestEncodeExact: values that a format holds exactly come back. (Q8_0, Q4_K
// and Q6_K cut ranges in 127 or 63 parts, where no round numbers lie.)
func TestEncodeExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, 512)
	for i := range x {
		x[i] = float32(rng.IntN(15)-7) * 0.25
		if i%32 == 0 {
			x[i] = -2
		}
	}
	for _, typ := range []Type{F32, F16, BF16, Q4_0} {
		f, _ := Lookup(typ)
		n, _ := f.RowBytes(len(x))
		row, y := make([]byte, n), make([]float32, len(x))
		f.Encode(row, x)
		f.Decode(y, row)
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("%s: value %d is %v, came back as %v", f.Name, i, x[i], y[i])
			}
		}
	}
}

// TestEncodeAnything: no input makes a quantiser panic, and zeros stay zeros.
func TestEncodeAnything(t *testing.T) {
	for _, f := range Formats() {
		n, _ := f.RowBytes(256)
		row, y := make([]byte, n), make([]float32, 256)
		for _, v := range []float32{0, nan, inf, -inf, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32} {
			x := make([]float32, 256)
			x[3], x[77] = v, -v
			f.Encode(row, x)
			f.Decode(y, row)
			if v != 0 {
				continue
			}
			for i := range y {
				if y[i] != 0 {
					t.Fatalf("%s: zero %d became %v", f.Name, i, y[i])
				}
			}
		}
	}
}

func TestLengthsAreChecked(t *testing.T) {
	for _, f := range Formats() {
		for name, call := range map[string]func(){
			"decode": func() { f.Decode(make([]float32, 2*f.BlockElems), make([]byte, f.BlockBytes)) },
			"encode": func() { f.Encode(make([]byte, f.BlockBytes), make([]float32, 2*f.BlockElems)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s took too few bytes", f.Name, name)
					}
				}()
				call()
			}()
		}
	}
}
