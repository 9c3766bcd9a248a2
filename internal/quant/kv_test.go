package quant

import (
	"math"
	"testing"
)

// A cache's rounding, from values worked out by hand.
func TestRoundKV(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		t        Type
		in, want []float32
	}{
		{F32, []float32{1.0000001, nan, -inf}, []float32{1.0000001, nan, -inf}},
		{F16, []float32{1 + 0x1p-11, 1 + 3*0x1p-11, 65519.996, 65520, 0x1p-25, 0x1.8p-24, -inf, nan}, []float32{1, 1 + 0x1p-9, 65504, inf, 0, 0x1p-23, -inf, nan}},
		{BF16, []float32{1 + 0x1p-8, 1 + 3*0x1p-8, math.MaxFloat32, 0x1p-149, 0x1p-133, nan}, []float32{1, 1 + 0x1p-6, inf, 0, 0x1p-133, nan}},
		{Q8_0, []float32{127, 0.5, 1.5, -2.5, -126.75}, []float32{127, 0, 2, -2, -127}},
		{Q8_0, []float32{0, 0, 0}, []float32{0, 0, 0}},
		{Q8_0, []float32{1, nan}, []float32{nan, nan}},
	} {
		got := append([]float32(nil), c.in...)
		RoundKV(c.t, got, got)
		for i, w := range c.want {
			if got[i] != w && !(got[i] != got[i] && w != w) {
				t.Errorf("%v of %v: %v, want %v", c.t, c.in[i], got[i], w)
			}
		}
	}
	// The blocks begin with the head: what is beyond one is another's.
	x := make([]float32, 40)
	x[0], x[32], x[39] = 1e4, 127, 1
	RoundKV(Q8_0, x, x)
	if x[32] != 127 || x[39] != 1 || x[0] == 1e4 {
		t.Errorf("blocks of a head of 40: %v", x)
	}
}

func TestKVBytes(t *testing.T) {
	for _, c := range []struct {
		t         Type
		dim, want int
	}{{F32, 40, 160}, {F16, 40, 80}, {BF16, 1, 2}, {Q8_0, 1, 34}, {Q8_0, 32, 34}, {Q8_0, 40, 68}, {Q8_0, 128, 136}} {
		if got := KVBytes(c.t, c.dim); got != c.want {
			t.Errorf("KVBytes(%v, %d) = %d, want %d", c.t, c.dim, got, c.want)
		}
	}
	for _, f := range Formats() {
		func() {
			defer func() {
				if (recover() == nil) != IsKV(f.Type) {
					t.Errorf("KVBytes(%v) does not panic as IsKV has it", f.Type)
				}
			}()
			KVBytes(f.Type, 32)
		}()
	}
}
