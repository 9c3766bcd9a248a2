package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
)

// multiplier is how weights of a format are multiplied: the names of its kernels, and
// what they want of the activations.
type multiplier struct {
	name string
	unit int         // values in what a kernel counts a row in: a block of 32, or a chunk of 16 bytes
	few  roundedKind // activations for few rows
	many roundedKind // and for many
	tile []int       // shared memory of the kernels for many rows, by tile; none: there are none
}

// multipliers are those of all formats that have a packing.
var multipliers = map[quant.Type]multiplier{
	quant.F32:  {name: "f32", unit: 4, few: asFloats, many: asFloats},
	quant.F16:  {name: "f16", unit: 8, few: asFloats, many: asPair},
	quant.BF16: {name: "bf16", unit: 8, few: asBF16, many: asBF16},
	quant.Q8_0: {name: "q8_0", unit: 32, few: as8x32, many: as8x32},
	quant.Q4_0: {name: "q4_0", unit: 32, few: as8x32, many: as8x32},
	quant.Q4K:  {name: "q4_k", unit: 32, few: as8x256, many: as8x256},
	quant.Q6K:  {name: "q6_k", unit: 32, few: as8x256, many: as8x256},
}

// padded is the values of a row as the kernels count it.
func (m multiplier) padded(cols int) int { return int(ceilDiv(cols, m.unit)) * m.unit }

// family is kernels for a number of rows: NAME_FORMAT_SUFFIX.
type family struct {
	name    string
	rows    int // that a block of threads takes
	outs    int // outputs that it makes
	threads int
	few     bool // the weights go by registers, not by shared memory
}

// families are in order of the rows that they are best for. A matrix-vector kernel
// multiplies its rows one by one, and from about 8 on that costs more than the weights'
// way from memory; the tensor-core kernels read weights once for all rows of a tile.
//
// The narrow tiles have few outputs, so that also a small matrix has tiles for all
// multiprocessors; the wide one has many, since each row of activations is read again
// for each tile of outputs.
var families = []family{
	{"gemv_%s_1", 1, 16, 128, true},
	{"gemv_%s_2", 2, 16, 128, true},
	{"gemv_%s_4", 4, 16, 128, true},
	{"gemv_%s_8", 8, 16, 128, true},
}

// familyFor is the one for so many rows.
func (m multiplier) familyFor(rows int) (f family, at int) {
	for at, f = range families {
		if rows <= f.rows || at+1 == len(families) || m.tile == nil && !families[at+1].few {
			break
		}
	}
	return f, at
}

// kind is the form of activations that a family wants.
func (m multiplier) kind(f family) roundedKind {
	if f.few {
		return m.few
	}
	return m.many
}

// part is one product of a launch.
type part struct {
	w      *matrix
	out    address
	bias   address
	stride int // values of a row of out
}

// mostParts is how many products one launch takes.
const mostParts = 3

// call is what the products of a launch share: see Call in ptx/linear.cuh.
type call struct {
	counts, offsets address
	apart, outApart int
	groups          int
	rows            int // most of a group
	scale, cap      float32

	// Products of single rows, each with a matrix of its own; 0: none.
	ids       address
	used, per int
}

// sharedRows are the rows of a step, one matrix for all.
func sharedRows(count address, rows int) call {
	return call{counts: count, groups: 1, rows: rows, scale: 1}
}

// launch multiplies x by up to mostParts matrices of one format.
func (c call) launch(m multiplier, f family, at int, x rounded, parts []part) launch {
	var a args
	a.at(c.counts)
	a.at(c.offsets)
	a.i32(c.apart)
	a.i32(c.outApart)
	a.at(x.x)
	a.at(x.d)
	a.at(x.s)
	a.i32(int(ceilDiv(parts[0].w.cols, m.unit)))
	a.f32(c.scale)
	a.f32(c.cap)
	a.at(c.ids)
	a.i32(c.used)
	a.i32(c.per)
	tiles := uint32(0)
	for i := range mostParts {
		var p part
		var w, stack, n = address(0), int64(0), 0
		if i < len(parts) {
			p = parts[i]
			w, stack, n = p.w.planes[0], p.w.strides[0], p.w.rows
			tiles += ceilDiv(n, f.outs)
		}
		a.at(w)
		a.at(p.out)
		a.at(p.bias)
		a.i64(stack)
		a.i32(n)
		a.i32(p.stride)
	}
	l := launch{
		kernel: fmt.Sprintf(f.name, m.name), grid: dims{tiles, ceilDiv(c.rows, f.rows), uint32(c.groups)},
		block: dims{uint32(f.threads), 1, 1}, args: a,
	}
	if !f.few {
		l.shared = uint32(m.tile[at])
	}
	return l
}
