package kern

import (
	"fmt"
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// dotArgs is what a dot kernel takes: a rectangle of panels and activation
// rows of the size that the kernel is made for. Strides are in bytes. The
// assembly reads it by the offsets asserted below.
type dotArgs struct {
	w         unsafe.Pointer // first panel
	wStride   uintptr        // to the next panel
	x         unsafe.Pointer // first row: int8 quants or float32 values
	xStride   uintptr        // to the next row
	d         unsafe.Pointer // scales of the first row
	dStride   uintptr
	s         unsafe.Pointer // sums of the first row
	sStride   uintptr
	out       unsafe.Pointer // float32, 16 per panel and row
	outStride uintptr        // to the next row
	blocks    uintptr
	outPanel  uintptr // to the next panel's outputs: of amd64's kernels, the others' are neighbours
	ahead     uintptr // what to ask the memory for; of amd64's kernels of several rows
	count     uintptr // panels that follow one another; of amd64's kernels of one row, the others take one
	done      uintptr // bytes of outputs that they have gone on by
}

// The offsets that the assembly uses.
const (
	_ = -(unsafe.Offsetof(dotArgs{}.wStride) ^ 8)
	_ = -(unsafe.Offsetof(dotArgs{}.x) ^ 16)
	_ = -(unsafe.Offsetof(dotArgs{}.xStride) ^ 24)
	_ = -(unsafe.Offsetof(dotArgs{}.d) ^ 32)
	_ = -(unsafe.Offsetof(dotArgs{}.dStride) ^ 40)
	_ = -(unsafe.Offsetof(dotArgs{}.s) ^ 48)
	_ = -(unsafe.Offsetof(dotArgs{}.sStride) ^ 56)
	_ = -(unsafe.Offsetof(dotArgs{}.out) ^ 64)
	_ = -(unsafe.Offsetof(dotArgs{}.outStride) ^ 72)
	_ = -(unsafe.Offsetof(dotArgs{}.blocks) ^ 80)
	_ = -(unsafe.Offsetof(dotArgs{}.outPanel) ^ 88)
	_ = -(unsafe.Offsetof(dotArgs{}.ahead) ^ 96)
	_ = -(unsafe.Offsetof(dotArgs{}.count) ^ 104)
	_ = -(unsafe.Offsetof(dotArgs{}.done) ^ 112)
)

// tile is a dot kernel for a rectangle of panels × rows. Its size changes no
// bit of what it computes.
type tile struct {
	panels, rows int
	run          func(*dotArgs)
}

// aheadBytes is how far ahead a single pass of several rows asks for weights, as
// the kernels of one row do; lineBytes is a line of the caches.
const (
	aheadBytes = 1024
	lineBytes  = 64
)

// tailRows is how many rows of the last, partial panel are computed at once.
const tailRows = 8

// LinearScratch is a worker's memory for Linear; the zero value is ready. One
// goroutine uses it at a time.
type LinearScratch struct {
	args dotArgs
	tail [tailRows * Lanes]float32
	amx  *amxScratch // made when tiles are first used, or reserved
}

// Reserve makes what products on these kernels' tiles need, some 35 KiB where there
// are tiles, so that none of them allocates. One goroutine uses sc at a time.
func (k *Kernels) Reserve(sc *LinearScratch) {
	if k.amx != nil && sc.amx == nil {
		sc.amx = newAMXScratch()
	}
}

// Linear computes rows row0…row1 of x times panels panel0…panel1 of m:
//
//	out[r × stride + o] = Σk m[o][k] × x[r][k]    for the outputs o of those panels
//
// out is indexed from row 0 and output 0 of the whole product, so that workers
// share one buffer; only outputs that exist are written. x must be of the
// format's kind and width. Safe for concurrent use with distinct scratch and
// distinct outputs.
func (k *Kernels) Linear(sc *LinearScratch, m *Matrix, x *Acts, row0, row1, panel0, panel1 int, out []float32, stride int) {
	checkKind(m, x)
	if row0 < 0 || row1 > x.Rows || panel0 < 0 || panel1 > m.Panels() || stride < m.Rows {
		panic(fmt.Sprintf("kern: rows %d to %d of %d, panels %d to %d of %d, %d outputs in a stride of %d", row0, row1, x.Rows, panel0, panel1, m.Panels(), m.Rows, stride))
	}
	if row0 >= row1 || panel0 >= panel1 {
		return
	}
	_ = out[(row1-1)*stride+min(panel1*Lanes, m.Rows)-1]
	full := panel1
	if m.Rows < panel1*Lanes {
		full-- // the last panel has fewer than 16 outputs
	}
	if race.Enabled {
		watchLinear(m, x, row0, row1, panel0, panel1, out, stride)
	}
	j := k.job(sc, m, x, out, stride)
	if k.amx != nil {
		panel0 = k.amx.sweep(sc, m, x, &j.base, row0, row1, panel0, full)
	}
	if panel0 < full {
		j.sweep(row0, row1, panel0, full)
	}
	if full < panel1 {
		n := m.Rows - full*Lanes
		for r := row0; r < row1; r += tailRows {
			end := min(r+tailRows, row1)
			// The kernel's out is that of row 0, panel 0; tail stands for row r of the last panel.
			j.base.outStride = Lanes * 4
			j.base.out = unsafe.Pointer(&sc.tail[0])
			j.rowOut, j.panelOut = r, full
			j.sweep(r, end, full, panel1)
			for i := r; i < end; i++ {
				copy(out[i*stride+full*Lanes:][:n], sc.tail[(i-r)*Lanes:])
			}
		}
	}
	sc.args = dotArgs{} // keep no pointer alive
}

// RowsAtOnce is how many rows a call of Linear best has where there are many: a
// call of more takes long, and one of fewer costs more for each.
func (k *Kernels) RowsAtOnce(f *Format) int {
	const vectors = 32 // activations of so many stay in the cache beside a panel
	if k.amx == nil {
		return vectors
	}
	return max(vectors, k.amx.rowsAtOnce(f))
}

func checkKind(m *Matrix, x *Acts) {
	if x.Kind != m.Format.Act || x.Cols != m.Cols {
		panic(fmt.Sprintf("kern: a %d × %d matrix of %v met %d activations of kind %v", m.Rows, m.Cols, m.Format.Type, x.Cols, x.Kind))
	}
}

// job is what sweeps over m and x into out have in common.
func (k *Kernels) job(sc *LinearScratch, m *Matrix, x *Acts, out []float32, stride int) job {
	a := &sc.args
	x.bind(a)
	a.blocks = uintptr(m.Format.Blocks(m.Cols))
	a.wStride = uintptr(m.Format.PanelBytes(m.Cols))
	a.outStride, a.outPanel = uintptr(stride)*4, Lanes*4
	a.count = 1
	j := job{tiles: k.linear[m.Format.index], args: a, base: *a, panels: m.Panels()}
	j.base.w = unsafe.Pointer(&m.Data[0])
	j.base.out = unsafe.Pointer(&out[0])
	return j
}

// watchLinear tells the race detector what Linear touches.
func watchLinear(m *Matrix, x *Acts, row0, row1, panel0, panel1 int, out []float32, stride int) {
	n := m.Format.PanelBytes(m.Cols)
	race.ReadSlice(m.Data[panel0*n : panel1*n])
	for r := row0; r < row1; r++ {
		race.ReadSlice(x.values(r))
		race.ReadSlice(x.quants(r))
		race.WriteSlice(out[r*stride+panel0*Lanes : r*stride+min(panel1*Lanes, m.Rows)])
	}
}

// job is one sweep over panels and rows with the tiles of a format.
type job struct {
	tiles            []tile
	args             *dotArgs
	base             dotArgs // of row 0 and panel 0
	rowOut, panelOut int     // the row and panel that base.out stands for
	panels           int     // of the matrix
}

// sweep covers the rectangle with tiles. Panels go outermost, so that a panel
// stays in the first cache while the rows pass by it.
func (j *job) sweep(row0, row1, panel0, panel1 int) {
	for p := panel0; p < panel1; {
		width := j.width(row1-row0, panel1-p)
		j.group(row0, row1, p, width, 1, p+width)
		p += width
	}
}

// group covers rows of panels p, p + apart and so on, as many as width says.
// The first two passes ask the memory for the panels that follow, next and so
// on, one for their even lines and one for the odd ones; a single pass for what
// is a little ahead.
func (j *job) group(row0, row1, p, width, apart, next int) {
	for r, pass := row0, 0; r < row1; pass++ {
		t := j.tile(width, row1-r)
		ahead := uintptr(p) * j.base.wStride
		switch {
		case pass == 0 && t.rows == row1-r:
			ahead += aheadBytes
		case pass < 2 && next < j.panels:
			ahead = uintptr(next)*j.base.wStride + uintptr(pass)*lineBytes
		}
		j.base.ahead = uintptr(j.base.w) + ahead
		j.run(t, r, p, apart)
		r += t.rows
	}
}

// width is how many panels to take at once where rows and panels are left: the
// first tile that fits decides. Tiles are listed from large to small, and for
// each width there is one of a single row.
func (j *job) width(rows, panels int) int {
	for i := range j.tiles {
		if t := &j.tiles[i]; t.rows <= rows && t.panels <= panels {
			return t.panels
		}
	}
	return 1
}

// tile is the largest of a width for so many rows.
func (j *job) tile(width, rows int) *tile {
	for i := range j.tiles {
		if t := &j.tiles[i]; t.panels == width && t.rows <= rows {
			return t
		}
	}
	panic("kern: no tile of a single row")
}

// run computes t at row r, panel p, its panels so far apart.
func (j *job) run(t *tile, r, p, apart int) {
	a, b := j.args, &j.base
	*a = *b
	a.w = unsafe.Add(b.w, uintptr(p)*b.wStride)
	a.wStride *= uintptr(apart)
	a.outPanel *= uintptr(apart)
	a.x = unsafe.Add(b.x, uintptr(r)*b.xStride)
	a.d = unsafe.Add(b.d, uintptr(r)*b.dStride)
	a.s = unsafe.Add(b.s, uintptr(r)*b.sStride)
	a.out = unsafe.Add(b.out, uintptr(r-j.rowOut)*b.outStride+uintptr(p-j.panelOut)*Lanes*4)
	t.run(a)
}

// bind points a at row 0 of x.
func (x *Acts) bind(a *dotArgs) {
	blocks := uintptr(x.padded / x.Kind.BlockElems())
	switch x.Kind {
	case quant.ActF32, quant.ActBF16:
		a.x, a.xStride = unsafe.Pointer(unsafe.SliceData(x.f)), uintptr(x.padded)*4
		return
	case quant.ActQ8x32:
		a.s, a.sStride = unsafe.Pointer(unsafe.SliceData(x.s)), blocks*4
	case quant.ActQ8x32S:
		a.s, a.sStride = unsafe.Pointer(unsafe.SliceData(x.sum)), blocks*4
	case quant.ActQ8x256:
		a.s, a.sStride = unsafe.Pointer(unsafe.SliceData(x.sub)), blocks*2*subSums
	}
	a.x, a.xStride = unsafe.Pointer(unsafe.SliceData(x.q)), uintptr(x.padded)
	a.d, a.dStride = unsafe.Pointer(unsafe.SliceData(x.d)), blocks*4
}

// The portable kernels see their operands as slices again.

func (a *dotArgs) panel(bytes int) []byte {
	return unsafe.Slice((*byte)(a.w), int(a.blocks)*bytes)
}

func (a *dotArgs) quants(elems int) []int8 {
	return unsafe.Slice((*int8)(a.x), int(a.blocks)*elems)
}

func (a *dotArgs) floats(elems int) []float32 {
	return unsafe.Slice((*float32)(a.x), int(a.blocks)*elems)
}

func (a *dotArgs) scales() []float32 { return unsafe.Slice((*float32)(a.d), int(a.blocks)) }

func (a *dotArgs) blockSums() []int32 { return unsafe.Slice((*int32)(a.s), int(a.blocks)) }

func (a *dotArgs) floatSums() []float32 { return unsafe.Slice((*float32)(a.s), int(a.blocks)) }

func (a *dotArgs) subSums() []int16 { return unsafe.Slice((*int16)(a.s), int(a.blocks)*subSums) }

func (a *dotArgs) lanes() *[Lanes]float32 { return (*[Lanes]float32)(a.out) }
