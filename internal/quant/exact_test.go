package quant

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/paddock-go/paddock/internal/half"
)

// big32 is x exactly.
func big32(x float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(x)) }

// fma rounds a×b+c once, by big arithmetic.
func fma(a, b, c float32) float32 {
	p := big32(a)
	p.Mul(p, big32(b))
	r, _ := p.Add(p, big32(c)).Float32()
	return r
}

// times rounds a×b once.
func times(a, b float32) float32 {
	r, _ := new(big.Float).SetPrec(600).Mul(big32(a), big32(b)).Float32()
	return r
}

// weightInts returns each weight's integer part and the scales and minima of a
// block, got from Decode alone by setting the block's float scales to 1: a
// second way to the integers, which shares no unpacking of scales with Dot.
func weightInts(f *Format, blk []byte) (q []int32, base []int32, d, dmin float32) {
	one := append([]byte(nil), blk...)
	put := func(at int, v float32) { binary.LittleEndian.PutUint16(one[at:], half.F16FromF32(v)) }
	get := func(at int) float32 { return half.F16ToF32(binary.LittleEndian.Uint16(blk[at:])) }
	ints := func() []int32 {
		w := make([]float32, f.BlockElems)
		f.Decode(w, one)
		n := make([]int32, len(w))
		for i, v := range w {
			n[i] = int32(v)
		}
		return n
	}
	switch f.Type {
	case Q6K:
		d = get(208)
		put(208, 1)
	case Q4K:
		d, dmin = get(0), get(2)
		put(0, 0)
		put(2, -1)
		base = ints() // 0 − (−1 × min)
		put(0, 1)
		put(2, 0)
	default:
		d = get(0)
		put(0, 1)
	}
	return ints(), base, d, dmin
}

// dotExact is every format's definition, written once more in the plainest
// form.
func dotExact(t *testing.T, f *Format, row []byte, act *Act) float32 {
	t.Helper()
	w := make([]float32, act.N)
	f.Decode(w, row)
	var acc float32
	switch f.Act {
	case ActF32:
		for i, x := range act.F {
			acc = fma(w[i], x, acc)
		}
		return acc
	case ActBF16:
		w = append(w, make([]float32, len(act.F)-len(w))...)
		for b := 0; b < len(w); b += 32 {
			var sum [2]float32
			for i := b; i < b+32; i++ {
				sum[i&1] = fma(w[i], act.F[i], sum[i&1])
			}
			acc += sum[0] + sum[1]
		}
		if v := math.Abs(float64(acc)); v < 0x1p-100 {
			t.Fatal("draws are too small to ignore denormals")
		}
		return acc
	}
	e := f.BlockElems
	if f.Layout != nil {
		return layoutExact(f, row, act)
	}
	for b := range act.N / e {
		q, base, d, dmin := weightInts(f, row[b*f.BlockBytes:(b+1)*f.BlockBytes])
		var sum, minima int64
		for i, v := range q {
			x := int64(act.Q[b*e+i])
			sum += int64(v) * x
			if base != nil {
				minima += int64(base[i]) * x
			}
		}
		// int64 to float32 rounds once, to nearest even.
		acc = fma(float32(sum), times(d, act.D[b]), acc)
		if base != nil {
			acc = fma(-float32(minima), times(dmin, act.D[b]), acc)
		}
	}
	return acc
}

// layoutExact is the definition of the formats that are taken apart.
func layoutExact(f *Format, row []byte, act *Act) (acc float32) {
	e, l := f.BlockElems, f.Layout
	for b := range act.N / e {
		blk := l.Take(row[b*f.BlockBytes : (b+1)*f.BlockBytes])
		for at := 0; at < e; at += l.Run {
			var sum, minima int64
			for i := at; i < at+l.Run; i++ {
				x := int64(act.Q[b*e+i])
				sum += int64(blk.Scale[i/16]) * int64(blk.Q[i]) * x
				minima += int64(blk.Least[i/16]) * x
			}
			dx := act.D[(b*e+at)/f.Act.BlockElems()]
			acc = fma(float32(sum), times(blk.D[at/l.Run], dx), acc)
			switch {
			case !l.Minima:
			case f.Act == ActQ8x32S:
				acc = fma(blk.M[at/l.Run], act.S[(b*e+at)/32], acc)
			default:
				acc = fma(float32(minima), times(blk.M[at/l.Run], dx), acc)
			}
		}
	}
	return acc
}
