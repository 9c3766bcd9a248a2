package half

import (
	"math"
	"math/rand/v2"
	"testing"
)

// valueF16 is the value of a code by the definition of binary16.
func valueF16(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, man := int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return sign * math.Ldexp(man, -24)
	case 31:
		if man != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(man+1024, exp-25)
}

func TestF16EveryCode(t *testing.T) {
	for c := range 1 << 16 {
		h := uint16(c)
		got, want := F16ToF32(h), valueF16(h)
		if math.IsNaN(want) {
			if back := F16FromF32(got); got == got || back != h|0x200 {
				t.Fatalf("NaN code %#04x widens to %v and comes back as %#04x, want the quiet %#04x", h, got, back, h|0x200)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != (h&0x8000 != 0) {
			t.Fatalf("code %#04x is %v, want %v", h, got, want)
		}
		if back := F16FromF32(got); back != h {
			t.Fatalf("code %#04x comes back as %#04x", h, back)
		}
	}
}

// nearestF16 rounds by scaling to the spacing of the codes around f.
func nearestF16(f float32) float64 {
	x := float64(f)
	if x == 0 || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	step := math.Ldexp(1, max(e-11, -24))
	if r := math.RoundToEven(x/step) * step; math.Abs(r) < 65536 {
		return r
	}
	return math.Copysign(math.Inf(1), x)
}

func TestF16RoundsToNearestEven(t *testing.T) {
	check := func(f float32) {
		t.Helper()
		got, want := valueF16(F16FromF32(f)), nearestF16(f)
		if got != want || math.Signbit(got) != math.Signbit(float64(f)) {
			t.Fatalf("%v (%#08x) becomes %v, want %v", f, math.Float32bits(f), got, want)
		}
	}
	// Every value, every midpoint of neighbours, and the floats beside both.
	for c := range 0x7c00 {
		lo := F16ToF32(uint16(c))
		hi := float32(65536)
		if c < 0x7bff {
			hi = F16ToF32(uint16(c + 1))
		}
		for _, m := range []float32{lo, (lo + hi) / 2} {
			b := math.Float32bits(m)
			for _, n := range []uint32{b, b + 1, max(b, 1) - 1} {
				f := math.Float32frombits(n)
				check(f)
				check(-f)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		if f := math.Float32frombits(rng.Uint32()); f == f {
			check(f)
		}
	}
}

func TestBF16EveryCode(t *testing.T) {
	for c := range 1 << 16 {
		h := uint16(c)
		f := BF16ToF32(h)
		if math.Float32bits(f) != uint32(h)<<16 {
			t.Fatalf("code %#04x widens to bits %#08x", h, math.Float32bits(f))
		}
		want := h
		if f != f {
			want |= 0x40
		}
		if back := BF16FromF32(f); back != want {
			t.Fatalf("code %#04x comes back as %#04x, want %#04x", h, back, want)
		}
	}
}

func TestBF16RoundsToNearestEven(t *testing.T) {
	// All codes but the NaNs, with every interesting tail.
	for c := range 0x7f80 {
		for _, tail := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			want := uint16(c)
			if tail > 0x8000 || tail == 0x8000 && c&1 == 1 {
				want++ // from the largest value this is infinity, as it should be
			}
			f := math.Float32frombits(uint32(c)<<16 | tail)
			if got := BF16FromF32(f); got != want {
				t.Fatalf("%#04x.%04x becomes %#04x, want %#04x", c, tail, got, want)
			}
			if got := BF16FromF32(-f); got != want|0x8000 {
				t.Fatalf("−%#04x.%04x becomes %#04x, want %#04x", c, tail, got, want|0x8000)
			}
		}
	}
	for _, nan := range []uint32{0x7f800001, 0x7fffffff, 0xff800001, 0xffffffff} {
		if f := BF16ToF32(BF16FromF32(math.Float32frombits(nan))); f == f {
			t.Errorf("NaN %#08x becomes %v", nan, f)
		}
	}
}

func TestSlices(t *testing.T) {
	src := []float32{0, 1, -2.5, 65504, 1e-7, 3.14159}
	for name, f := range map[string]struct {
		encode func([]byte, []float32)
		decode func([]float32, []byte)
		narrow func([]uint16, []float32)
		widen  func([]float32, []uint16)
		one    func(float32) uint16
		back   func(uint16) float32
	}{
		"f16":  {EncodeF16, DecodeF16, NarrowF16, WidenF16, F16FromF32, F16ToF32},
		"bf16": {EncodeBF16, DecodeBF16, NarrowBF16, WidenBF16, BF16FromF32, BF16ToF32},
	} {
		raw, codes := make([]byte, 2*len(src)), make([]uint16, len(src))
		a, b := make([]float32, len(src)), make([]float32, len(src))
		f.encode(raw, src)
		f.decode(a, raw)
		f.narrow(codes, src)
		f.widen(b, codes)
		for i, v := range src {
			if want := f.one(v); codes[i] != want || raw[2*i] != byte(want) || raw[2*i+1] != byte(want>>8) {
				t.Errorf("%s: value %d is code %#04x and bytes %x, want %#04x", name, i, codes[i], raw[2*i:2*i+2], want)
			}
			if want := f.back(f.one(v)); a[i] != want || b[i] != want {
				t.Errorf("%s: value %d comes back as %v and %v, want %v", name, i, a[i], b[i], want)
			}
		}
	}
}
