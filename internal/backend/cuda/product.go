package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
)

// multiplier is how weights of a format are multiplied: the names of its kernels, what
// they want of the activations, and what a stage of the tensor-core kernels takes.
type multiplier struct {
	name    string
	unit    int         // values in what a kernel counts a row in: a block of 32, or a chunk of 16 bytes
	few     roundedKind // activations of the matrix-vector kernels
	many    roundedKind // and of the tensor-core kernels
	fewRows int         // most rows of the matrix-vector kernels; 0: they take all

	// Bytes of shared memory that go with 128 bytes of a row of weights: of a row of
	// activations, and of what each 8 outputs and each 8 rows have beside, scales say.
	acts, byOuts, byRows int
}

// multipliers are those of all formats that have a packing. With 8 rows the dot
// products of a byte of 4-bit weights take longer than the byte's way from memory, of
// 8-bit ones they don't.
var multipliers = map[quant.Type]multiplier{
	quant.F32:  {name: "f32", unit: 4, few: asFloats, many: asFloats},
	quant.F16:  {name: "f16", unit: 8, few: asFloats, many: asPair, fewRows: 8, acts: 256},
	quant.BF16: {name: "bf16", unit: 8, few: asBF16, many: asBF16, fewRows: 8, acts: 128},
	quant.Q8_0: {name: "q8_0", unit: 32, few: as8x32, many: as8x32, fewRows: 8, acts: 128, byOuts: 4 * 16, byRows: 4 * 32},
	quant.Q4_0: {name: "q4_0", unit: 32, few: as8x32, many: as8x32, fewRows: 4, acts: 256, byOuts: 8 * 16, byRows: 8 * 32},
	quant.Q4K:  {name: "q4_k", unit: 32, few: as8x256, many: as8x256, fewRows: 4, acts: 256, byOuts: 8*16 + 32, byRows: 32 + 8*16},
	quant.Q6K:  {name: "q6_k", unit: 32, few: as8x256, many: as8x256, fewRows: 4, acts: 256, byOuts: 8*16 + 16 + 8*80, byRows: 32},
}

// padded is the values of a row as the kernels count it.
func (m multiplier) padded(cols int) int { return int(ceilDiv(cols, m.unit)) * m.unit }

// family is kernels for a number of rows, NAME_FORMAT_SUFFIX, and the shape of a block
// of threads' work.
type family struct {
	name    string
	rows    int
	outs    int
	threads int
	units   int // tensor-core kernels: units of K in a stage; 0: matrix-vector kernels
}

// families are in order of the rows that they are best for. The matrix-vector kernels
// multiply row by row; the tensor-core kernels read weights once for all rows of a tile,
// and the narrow ones have few outputs, so that small matrices have tiles for all
// multiprocessors too. The widest has many, since each row of activations is read again
// for every tile of outputs. ptx/gemm.cuh has the shapes.
var families = []family{
	{"gemv_%s_1", 1, 16, 128, 0},
	{"gemv_%s_2", 2, 16, 128, 0},
	{"gemv_%s_4", 4, 16, 128, 0},
	{"gemv_%s_8", 8, 16, 128, 0},
	{"gemm_%s_16", 16, 32, 128, 4},
	{"gemm_%s_32", 32, 64, 128, 2},
	{"gemm_%s_64", 64, 64, 128, 1},
	{"gemm_%s_any", 64, 128, 256, 1},
}

// familyFor is the one for so many rows.
func (m multiplier) familyFor(rows int) family {
	var best family
	for i, f := range families {
		vectors := f.units == 0
		switch {
		case vectors && m.fewRows > 0 && (f.rows > m.fewRows || rows > m.fewRows):
			continue
		case !vectors && m.fewRows == 0:
			continue
		}
		best = f
		if rows <= f.rows && i < len(families)-1 {
			break
		}
	}
	return best
}

// Shared memory of a tensor-core kernel: as many stages as fit, at most mostStages.
const (
	mostStages = 4
	mostShared = 99 << 10
)

// shared is the dynamic shared memory of a family's kernel in bytes.
func (m multiplier) shared(f family) int {
	if f.units == 0 {
		return 0
	}
	unit := f.outs*128 + f.rows*m.acts + f.outs/8*m.byOuts + f.rows/8*m.byRows
	stage := (unit + 127) / 128 * 128 * f.units
	return min(mostStages, mostShared/stage) * stage
}

// kind is the form of activations that a family wants.
func (m multiplier) kind(f family) roundedKind {
	if f.units == 0 {
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
	scale           float32

	// Products of single rows, each with a matrix of its own; 0: none.
	ids       address
	used, per int
}

// sharedRows are the rows of a step, one matrix for all.
func sharedRows(count address, rows int) call {
	return call{counts: count, groups: 1, rows: rows, scale: 1}
}

// launch multiplies x by up to mostParts matrices of one format.
func (c call) launch(m multiplier, f family, x rounded, parts []part) launch {
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
	return launch{
		kernel: fmt.Sprintf(f.name, m.name), grid: dims{tiles, ceilDiv(c.rows, f.rows), uint32(c.groups)},
		block: dims{uint32(f.threads), 1, 1}, shared: uint32(m.shared(f)), args: a,
	}
}
