package quant

import (
	"github.com/paddock-go/paddock/internal/num"
)

// Taken is a block taken apart into integers and float scales, the form that
// all formats without code of their own share. A block is cut into runs, each
// with float scales, and runs into sub-blocks of 16 values with integer scales:
//
//	value i = (D[run] × Scale[i÷16]) × Q[i] + M[run] × Least[i÷16]
//
// with each product rounded; where the activations come with sums of 32 values,
// Least is 1 and runs are 32 long. The second term exists in formats with minima
// only. What a format lacks is 1: integer scales where it has none, and one run
// of a whole block of 256, whose activations have one scale too.
//
//	┌───────────── block ─────────────┐
//	│ run: D, M      │ run: D, M      │
//	│ 16 │ 16 │ …    │ 16 │ 16 │ …    │ each: Scale, Least
//	└─────────────────────────────────┘
type Taken struct {
	Q            [256]int8
	Scale, Least [16]int16
	D, M         [4]float32
}

// Layout is how blocks of a format are taken apart.
type Layout struct {
	Run    int // values of a run: 16 or 32, or a whole block of 256
	Minima bool
	Take   func(blk []byte) Taken // of any bytes, BlockBytes of them
}

// taken makes the row of a format from its layout.
func taken(t Type, name string, elems, bytes int, l Layout, encode func(dst []byte, src []float32)) Format {
	kind := ActQ8x32
	switch {
	case elems == 256:
		kind = ActQ8x256
	case l.Minima:
		kind = ActQ8x32S
	}
	decode := func(dst []float32, src []byte) {
		nb, src := blocks("decode "+name, len(dst), elems, src, bytes)
		for b := range nb {
			blk := l.Take(src[b*bytes : (b+1)*bytes])
			l.Values(dst[b*elems:(b+1)*elems], &blk)
		}
	}
	dot := func(row []byte, act *Act) float32 {
		nb := act.want(kind, row, elems, bytes)
		scales := elems / kind.BlockElems()
		var acc float32
		for b := range nb {
			blk := l.Take(row[b*bytes : (b+1)*bytes])
			acc = l.Add(acc, &blk, act.Q[b*elems:(b+1)*elems], act.D[b*scales:(b+1)*scales], act.sums(b))
		}
		return acc
	}
	checked := func(dst []byte, src []float32) {
		nb, dst := blocks("encode "+name, len(src), elems, dst, bytes)
		clear(dst)
		for b := range nb {
			encode(dst[b*bytes:(b+1)*bytes], src[b*elems:(b+1)*elems])
		}
	}
	return Format{Type: t, Name: name, BlockElems: elems, BlockBytes: bytes, Act: kind, Decode: decode, Encode: checked, Dot: dot, Layout: &l}
}

// sums are those of block b, or nil.
func (a *Act) sums(b int) []float32 {
	if a.Kind != ActQ8x32S {
		return nil
	}
	return a.S[b : b+1]
}

// Values writes the values of a block to dst, as many as there are. Safe for
// concurrent use on distinct dst.
func (l *Layout) Values(dst []float32, blk *Taken) {
	for i := range dst {
		run, sub := i/l.Run, i/16
		v := float32(float32(blk.D[run]*float32(blk.Scale[sub])) * float32(blk.Q[i]))
		if l.Minima {
			v += float32(blk.M[run] * float32(blk.Least[sub]))
		}
		dst[i] = v
	}
}

// Add adds the product of a block with its activations, quants x and scales d,
// to acc. Per run it is one exact integer, Σ scale × (quants · activations),
// then one multiply and one fused add. For the minima it is the same again, or
// one fused add of M × sum for activations that come with one. It
// allocates nothing. Safe for concurrent use.
func (l *Layout) Add(acc float32, blk *Taken, x []int8, d, sum []float32) float32 {
	for at := 0; at < len(x); at += l.Run {
		run := at / l.Run
		var products, minima int32
		for i := at; i < at+l.Run; i += 16 {
			q, xs := blk.Q[i:i+16], x[i:i+16]
			var dot, total int32
			for k, v := range xs {
				dot += int32(q[k]) * int32(v)
				total += int32(v)
			}
			products += int32(blk.Scale[i/16]) * dot
			minima += int32(blk.Least[i/16]) * total
		}
		dx := d[at*len(d)/len(x)]
		acc = num.FMA32(float32(products), float32(blk.D[run]*dx), acc)
		switch {
		case !l.Minima:
		case sum != nil:
			acc = num.FMA32(blk.M[run], sum[run], acc)
		default:
			acc = num.FMA32(float32(minima), float32(blk.M[run]*dx), acc)
		}
	}
	return acc
}

// plain sets a block's integer scales to 1 and all its runs' scales to d.
func (blk *Taken) plain(d float32) {
	for i := range blk.Scale {
		blk.Scale[i], blk.Least[i] = 1, 1
	}
	for i := range blk.D {
		blk.D[i] = d
	}
}

// scale32 sets the integer scale of the 32 values of sub-block j.
func (blk *Taken) scale32(j int, scale int16) {
	blk.Scale[2*j], blk.Scale[2*j+1] = scale, scale
}

// spread is the range of x, widened to include 0.
func spread(x []float32) (lo, hi float32) {
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// nearestOf returns the index of the level nearest to v ÷ d, the first of
// equals; 0 where that is no number.
func nearestOf(levels *[16]int8, v, d float32) byte {
	r := v / d
	best, at := float32(0), -1
	for i, l := range levels {
		if diff := r - float32(l); at < 0 || diff*diff < best {
			best, at = diff*diff, i
		}
	}
	if r != r {
		return byte(zeroOf(levels))
	}
	return byte(at)
}

// zeroOf is the index of the level of least magnitude.
func zeroOf(levels *[16]int8) int {
	at := 0
	for i, l := range levels {
		if max(l, -l) < max(levels[at], -levels[at]) {
			at = i
		}
	}
	return at
}
