package ptxsim

import (
	"math"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/num"
)

func f32(v uint64) float32      { return math.Float32frombits(uint32(v)) }
func bits32(f float32) uint64   { return uint64(math.Float32bits(f)) }
func f64(v uint64) float64      { return math.Float64frombits(v) }
func bits64(f float64) uint64   { return math.Float64bits(f) }
func f16(v uint64) float32      { return half.F16ToF32(uint16(v)) }
func bits16(f float32) uint64   { return uint64(half.F16FromF32(f)) }
func bf16(v uint64) float32     { return half.BF16ToF32(uint16(v)) }
func bitsBF16(f float32) uint64 { return uint64(half.BF16FromF32(f)) }

func addF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(f32(a[i]) + f32(b[i]))
	}
}

func subF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(f32(a[i]) - f32(b[i]))
	}
}

func mulF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(f32(a[i]) * f32(b[i]))
	}
}

func divF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(f32(a[i]) / f32(b[i]))
	}
}

func fmaF32(d, a, b, c *row) {
	for i := range d {
		d[i] = bits32(num.FMA32(f32(a[i]), f32(b[i]), f32(c[i])))
	}
}

// A minimum of a number and NaN is the number, and -0 is below +0.

func minNum[F float32 | float64](a, b F) F {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b)
}

func maxNum[F float32 | float64](a, b F) F {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

func minF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(minNum(f32(a[i]), f32(b[i])))
	}
}

func maxF32(d, a, b, _ *row) {
	for i := range d {
		d[i] = bits32(maxNum(f32(a[i]), f32(b[i])))
	}
}

// lifts of functions of floats, by type.

func float1(t typ, f func(float64) float64) alu {
	switch t {
	case typ{'f', 64}:
		return lift1(func(a uint64) uint64 { return bits64(f(f64(a))) })
	default:
		return lift1(func(a uint64) uint64 { return bits32(float32(f(float64(f32(a))))) })
	}
}

func double2(f func(a, b float64) float64) alu {
	return lift2(func(a, b uint64) uint64 { return bits64(f(f64(a), f64(b))) })
}

// half2 and brain2 compute on float64, where a sum, difference or product of two
// halves is exact but for what odd32 keeps sticky, and round once.
func half2(f func(a, b float64) float64) alu {
	return lift2(func(a, b uint64) uint64 { return bits16(odd32(f(float64(f16(a)), float64(f16(b))), 0)) })
}

func brain2(f func(a, b float64) float64) alu {
	return lift2(func(a, b uint64) uint64 { return bitsBF16(odd32(f(float64(bf16(a)), float64(bf16(b))), 0)) })
}

// odd32 narrows s, whose rounding error was rest, to float32 so that a later rounding
// to fewer bits comes out as if there had been no step between: what isn't exact
// gets an odd last bit.
func odd32(s, rest float64) float32 {
	f := float32(s)
	b := math.Float32bits(f)
	if b&0x7f800000 == 0x7f800000 || float64(f) == s && rest == 0 {
		return f
	}
	if math.Abs(float64(f)) > math.Abs(s) || float64(f) == s && (rest < 0) == (s > 0) {
		b--
	}
	return math.Float32frombits(b | 1)
}

// fused is a*b + c and its error, of values whose product is exact in float64.
func fused(a, b, c float64) (s, rest float64) {
	p := float64(a * b)
	s = p + c
	// What the sum lost (Knuth's two-sum).
	t := s - p
	return s, (p - (s - t)) + (c - t)
}

func fmaF16(a, b, c uint64) uint64 {
	return bits16(odd32(fused(float64(f16(a)), float64(f16(b)), float64(f16(c)))))
}

func fmaBF16(a, b, c uint64) uint64 {
	return bitsBF16(odd32(fused(float64(bf16(a)), float64(bf16(b)), float64(bf16(c)))))
}

// packed applies an operation of 16 bits to both halves of 32.
func packed(f alu) alu {
	return func(d, a, b, c *row) {
		var parts [2]row
		var in [3]row
		for h := range 2 {
			for j, src := range [3]*row{a, b, c} {
				if src == nil {
					continue
				}
				for i := range src {
					in[j][i] = src[i] >> (16 * h) & 0xffff
				}
			}
			f(&parts[h], &in[0], &in[1], &in[2])
		}
		for i := range d {
			d[i] = parts[1][i]<<16 | parts[0][i]
		}
	}
}

// flush makes subnormal floats zero of the same sign.
func flush(d, a *row) {
	for i := range d {
		v := a[i]
		if v&0x7f800000 == 0 {
			v &= 0x80000000
		}
		d[i] = v
	}
}

// ftz flushes what f reads and what it gives.
func ftz(f alu) alu {
	return func(d, a, b, c *row) {
		var in [3]row
		for j, src := range [3]*row{a, b, c} {
			if src != nil {
				flush(&in[j], src)
			}
		}
		f(d, &in[0], &in[1], &in[2])
		flush(d, d)
	}
}

// saturate clamps to [0, 1], NaN to 0.
func saturate(f alu) alu {
	return func(d, a, b, c *row) {
		f(d, a, b, c)
		for i := range d {
			v := f32(d[i])
			if !(v > 0) {
				v = 0
			}
			d[i] = bits32(min(v, 1))
		}
	}
}
