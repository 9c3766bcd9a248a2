package cuda

import (
	"github.com/paddock-go/paddock/internal/backend"
)

// roundedKind is a form into which activations are brought for products, see
// ptx/linear.cuh.
type roundedKind uint8

const (
	asFloats roundedKind = iota // float32, rows padded to what the weights' chunks hold
	asBF16                      // bf16
	asPair                      // two terms of f16, and a scale for each row
	as8x32                      // 8 bit, a scale for each 32
	as8x256                     // 8 bit, a scale for each 256, sums of 32
)

// roundedKinds say which kernel brings a row into the form, and how much memory it
// takes: bytes of each of the three planes for so many values of a row.
var roundedKinds = [...]struct {
	kernel  string
	values  int // of a row that one block of threads takes; 0: all
	threads int
	planes  [3]perValues
}{
	asFloats: {"round_f32", 128, 128, [3]perValues{{4, 1}}},
	asBF16:   {"round_bf16", 128, 128, [3]perValues{{2, 1}}},
	asPair:   {"split_f16", 0, 256, [3]perValues{{2, 1}, {4, 0}, {2, 1}}},
	as8x32:   {"round_q8x32", 512, 128, [3]perValues{{1, 1}, {4, 32}}},
	as8x256:  {"round_q8x256", 1024, 128, [3]perValues{{1, 1}, {4, 256}, {2, 32}}},
}

// perValues is bytes for so many values; 0 values: for a row.
type perValues struct{ bytes, values int }

// rounded are rows of activations in a form: quants or floats, scales, sums (or the
// second terms).
type rounded struct {
	kind    roundedKind
	padded  int // values of a row
	x, d, s address
}

// planes are the bytes of each plane for so many rows. Kernels read rows by panels.
func (x rounded) planes(rows int) (bytes [3]int64) {
	rows = int(ceilDiv(rows, panelRows)) * panelRows
	for i, p := range roundedKinds[x.kind].planes {
		n := 1
		if p.values > 0 {
			n = x.padded / p.values
		}
		bytes[i] = backend.Product(int64(rows), int64(n), int64(p.bytes))
	}
	return bytes
}

// take gives the planes their places.
func (x *rounded) take(rows int, take func(bytes int64) address) {
	bytes := x.planes(rows)
	x.x, x.d, x.s = take(bytes[0]), take(bytes[1]), take(bytes[2])
}

// source is rows of float32 that are to be rounded.
type source struct {
	at     address
	stride int     // values from row to row
	cols   int     // values of a row
	count  address // how many rows there are
	most   int     // the most of them
	from   address // by row, the row that it is a copy of; 0: they are in order

	// Parts of a row that are rows of their own: row r's part g becomes row
	// r × toRow + g × toGroup.
	groups, apart, toRow, toGroup int
}

// wholeRows are rows in order, each as it is.
func wholeRows(at address, width int, count address, most int) source {
	return source{at: at, stride: width, cols: width, count: count, most: most, groups: 1, toRow: 1}
}

// round is the launch that fills x for the kernels of m.
func (x rounded) round(src source, m multiplier) launch {
	k := roundedKinds[x.kind]
	var a args
	a.at(src.count)
	a.at(src.from)
	a.at(src.at)
	a.i32(src.stride)
	a.i32(src.apart)
	a.i32(src.toRow)
	a.i32(src.toGroup)
	a.i32(src.cols)
	if x.kind == asFloats {
		a.i32(x.padded)
	} else {
		a.i32(x.padded / m.unit)
	}
	x.planesTo(&a)
	pieces := uint32(1)
	if k.values > 0 {
		pieces = ceilDiv(x.padded, k.values)
	}
	return launch{
		kernel: k.kernel, grid: dims{uint32(src.most), pieces, uint32(src.groups)},
		block: dims{uint32(k.threads), 1, 1}, args: a, rounds: rounding{src, x},
	}
}

// planesTo adds where the planes lie, as the kernels that fill x take them.
func (x rounded) planesTo(a *args) {
	a.at(x.x)
	switch x.kind {
	case asPair:
		a.at(x.s)
		a.at(x.d)
	case as8x32:
		a.at(x.d)
	case as8x256:
		a.at(x.d)
		a.at(x.s)
	}
}

// block is the values of a row that are rounded together, for 8 bits.
func (x rounded) block() int { return roundedKinds[x.kind].planes[1].values }
