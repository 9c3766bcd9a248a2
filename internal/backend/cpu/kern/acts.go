package kern

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// Acts holds activation rows rounded for one kind of format, row major. Rows
// are filled by Kernels.Round, each by one goroutine; filled rows are safe for
// concurrent reading.
type Acts struct {
	Kind quant.ActKind
	Cols int // values of a row
	Rows int // rows there is memory for

	padded int       // values of a row with its last block padded by zeros
	f      []float32 // ActF32, ActBF16: rows × padded
	q      []int8    // the 8-bit kinds: rows × padded
	d      []float32 // scales: rows × blocks
	s      []int32   // ActQ8x32, ActQ8x32S: sum of each block's quants, rows × blocks
	sum    []float32 // ActQ8x32S: the same times the scale, rows × blocks
	h      []uint16  // ActBF16: the same as f in 16 bits, filled by kernels that use tiles
	sub    []int16   // ActQ8x256: sums of the quants of 16, then of 32 values: rows × blocks × (16 + 8)
}

// subSums is the number of sums of a block of 256: 16 of 16 values, in order,
// then 8 of 32. As int16 pairs they are the operand of VPMADDWD.
const subSums = 16 + 8

// NewActs returns memory for rows of cols activations of a kind.
func NewActs(kind quant.ActKind, rows, cols int) *Acts {
	elems := kind.BlockElems()
	blocks := (cols + elems - 1) / elems
	a := &Acts{Kind: kind, Cols: cols, Rows: rows, padded: blocks * elems}
	switch kind {
	case quant.ActF32:
		a.f = make([]float32, rows*a.padded)
	case quant.ActBF16:
		a.f, a.h = make([]float32, rows*a.padded), make([]uint16, rows*a.padded)
	case quant.ActQ8x32, quant.ActQ8x32S:
		a.q, a.d = make([]int8, rows*a.padded), make([]float32, rows*blocks)
		a.s = make([]int32, rows*blocks)
		if kind == quant.ActQ8x32S {
			a.sum = make([]float32, rows*blocks)
		}
	case quant.ActQ8x256:
		a.q, a.d = make([]int8, rows*a.padded), make([]float32, rows*blocks)
		a.sub = make([]int16, rows*blocks*subSums)
	default:
		panic(fmt.Sprintf("kern: no activations of kind %v", kind))
	}
	return a
}

// Reshape makes a fit rows of another width within the memory it has; it
// panics if that is too little. What was filled is lost.
func (a *Acts) Reshape(rows, cols int) {
	elems := a.Kind.BlockElems()
	blocks := (cols + elems - 1) / elems
	if n := rows * blocks * elems; n > max(cap(a.f), cap(a.q)) {
		panic(fmt.Sprintf("kern: %d rows of %d activations do not fit memory for %d values", rows, cols, max(cap(a.f), cap(a.q))))
	}
	a.Rows, a.Cols, a.padded = rows, cols, blocks*elems
}

// View is rows from…from+rows of a, in a's memory.
func (a *Acts) View(from, rows int) *Acts {
	if from < 0 || rows < 0 || from+rows > a.Rows {
		panic(fmt.Sprintf("kern: rows %d to %d of %d activations", from, from+rows, a.Rows))
	}
	blocks, to := a.padded/a.Kind.BlockElems(), from+rows
	return &Acts{
		Kind: a.Kind, Cols: a.Cols, Rows: rows, padded: a.padded,
		f: cut(a.f, from, to, a.padded), h: cut(a.h, from, to, a.padded), q: cut(a.q, from, to, a.padded), d: cut(a.d, from, to, blocks),
		s: cut(a.s, from, to, blocks), sum: cut(a.sum, from, to, blocks), sub: cut(a.sub, from, to, blocks*subSums),
	}
}

// cut is rows of n elements, of memory that may not be there.
func cut[E any](x []E, from, to, n int) []E {
	if x == nil {
		return nil
	}
	return x[from*n : to*n : to*n]
}

// ActBytes is the memory that NewActs takes for rows of cols activations.
func ActBytes(kind quant.ActKind, rows, cols int) int64 {
	elems := kind.BlockElems()
	blocks := int64((cols + elems - 1) / elems)
	per := int64(0)
	switch kind {
	case quant.ActF32:
		per = 4 * int64(elems)
	case quant.ActBF16:
		per = (4 + 2) * int64(elems)
	case quant.ActQ8x32:
		per = int64(elems) + 4 + 4
	case quant.ActQ8x32S:
		per = int64(elems) + 4 + 4 + 4
	case quant.ActQ8x256:
		per = int64(elems) + 4 + 2*subSums
	}
	return int64(rows) * blocks * per
}

// Round fills row r of a from x, which has a.Cols values, for products by the
// same kernels. Safe for concurrent use on distinct rows.
func (k *Kernels) Round(a *Acts, r int, x []float32) {
	if len(x) != a.Cols || r < 0 || r >= a.Rows {
		panic(fmt.Sprintf("kern: %d values into row %d of %d × %d activations", len(x), r, a.Rows, a.Cols))
	}
	lo, hi := r*a.padded, (r+1)*a.padded
	race.ReadSlice(x)
	race.WriteSlice(a.values(r))
	race.WriteSlice(a.quants(r))
	switch a.Kind {
	case quant.ActF32:
		copy(a.f[lo:hi], x)
	case quant.ActBF16:
		k.vec.roundBF16(a.f[lo:hi], x)
		if k.amx != nil {
			k.amx.packBF16(a.h[lo:hi], a.f[lo:hi])
		}
	case quant.ActQ8x32:
		k.vec.roundQ8x32(a.q[lo:hi], a.d[lo/32:hi/32], a.s[lo/32:hi/32], x)
	case quant.ActQ8x32S:
		k.vec.roundQ8x32(a.q[lo:hi], a.d[lo/32:hi/32], a.s[lo/32:hi/32], x)
		k.vec.sumQ8x32(a.sum[lo/32:hi/32], a.q[lo:hi], a.s[lo/32:hi/32], x)
	case quant.ActQ8x256:
		k.vec.roundQ8x256(a.q[lo:hi], a.d[lo/256:hi/256], a.sub[lo/256*subSums:hi/256*subSums], x)
	}
}

// values and quants are row r as floats or bytes, whichever the kind has. The
// scales and sums beside them are written and read at the same times.
func (a *Acts) values(r int) []float32 {
	if a.f == nil {
		return nil
	}
	return a.f[r*a.padded : (r+1)*a.padded]
}

func (a *Acts) quants(r int) []int8 {
	if a.q == nil {
		return nil
	}
	return a.q[r*a.padded : (r+1)*a.padded]
}
