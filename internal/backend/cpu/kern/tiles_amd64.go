//go:build !noasm

package kern

import "unsafe"

// tileArgs is what a tile phase and the vector phase after it take, read by the
// offsets that kern/_asm/amx.go has. Addresses are numbers: the vector phase
// moves some of them on to the next block of rows, and after the last one they
// point behind everything. What they point into is kept alive by Linear's
// caller, and is not on a stack.
type tileArgs struct {
	config [64]byte // of the tiles, as LDTILECFG reads it

	x       uintptr // bytes of the block's first row of activations
	xStride uintptr // to the next row
	x1      uintptr // to the rows of the second tile
	xStep   uintptr // from step to step
	xPair   uintptr // after the steps, to the next pair's
	b       uintptr // the first operand tile of weights
	b1      uintptr // to the other one of the pair
	bStep   uintptr
	bPair   uintptr
	t       uintptr // the first result
	tStride uintptr // to its next row
	tRow1   uintptr // to the rows of the second tile
	tCol1   uintptr // to the result of the pair's other
	tPair   uintptr

	steps uintptr // products that a result is the sum of
	pairs uintptr
	times uintptr // blocks of rows; the tile phase counts it down
	scale uintptr // code of the vector phase

	rows      uintptr // of a block
	d         uintptr // scales of the activations
	dStride   uintptr
	s         uintptr // their sums
	sStride   uintptr
	out       uintptr
	outStride uintptr
	w         uintptr // scales of the weights
}

const (
	_ = -(unsafe.Offsetof(tileArgs{}.x) ^ 64)
	_ = -(unsafe.Offsetof(tileArgs{}.b) ^ 104)
	_ = -(unsafe.Offsetof(tileArgs{}.t) ^ 136)
	_ = -(unsafe.Offsetof(tileArgs{}.steps) ^ 176)
	_ = -(unsafe.Offsetof(tileArgs{}.rows) ^ 208)
	_ = -(unsafe.Offsetof(tileArgs{}.w) ^ 264)
)

// expandArgs is what an expansion takes; the assembly reads it by offset too.
type expandArgs struct {
	w      uintptr // the panel's first block
	b      uintptr // bytes to write
	scales uintptr // floats to write
	blocks uintptr // of 32 values, at most chunk32; of 256: one, not read
}

// Sizes of a scratch's parts: two planes of 256 k of two panels; the results of
// chunk32 blocks; and scales and minima of two panels of a K type.
const (
	planeBytes  = 256 * Lanes
	amxBytes    = 4 * planeBytes
	resultBytes = blockRows * 64
	amxResults  = chunk32 * 2 * resultBytes
	kScales     = 1024
	amxScales   = 2 * kScales
)

// amxScratch is a worker's memory for products with tiles.
type amxScratch struct {
	tileArgs
	expand  expandArgs
	memory  []byte // holds the rest
	bytes   uintptr
	results uintptr
	scales  uintptr

	first  tileArgs // x, d, s and out of the first row of the panels at hand
	panels uintptr  // address of the first of them
}

func newAMXScratch() *amxScratch {
	s := &amxScratch{memory: make([]byte, amxBytes+amxResults+amxScales+64)}
	s.bytes = (address(unsafe.Pointer(&s.memory[0])) + 63) &^ 63
	s.results = s.bytes + amxBytes
	s.scales = s.results + amxResults
	return s
}

func address(p unsafe.Pointer) uintptr { return uintptr(p) }

// start points at a row and panel of b, which is of row 0 and panel 0.
func (s *amxScratch) start(b *dotArgs, row, panel int) {
	s.tileArgs = tileArgs{
		x: address(b.x) + uintptr(row)*b.xStride, xStride: b.xStride,
		d: address(b.d) + uintptr(row)*b.dStride, dStride: b.dStride,
		s: address(b.s) + uintptr(row)*b.sStride, sStride: b.sStride,
		out: address(b.out) + uintptr(row)*b.outStride + uintptr(panel)*Lanes*4, outStride: b.outStride,
		w: s.scales, t: s.results, tStride: 64, tCol1: resultBytes, tPair: 2 * resultBytes, b: s.bytes,
	}
	s.panels = address(b.w) + uintptr(panel)*b.wStride
}

// clear makes the outputs of two panels zero, which sums begin at.
func (s *amxScratch) clear(b *dotArgs, row0, row1, panel int) {
	for r := row0; r < row1; r++ {
		clear(unsafe.Slice((*float32)(unsafe.Add(b.out, uintptr(r)*b.outStride+uintptr(panel)*Lanes*4)), 2*Lanes))
	}
}

// part points at the first row, so far along the inner dimension.
func (s *amxScratch) part(x, d, sums uintptr) {
	s.x, s.d, s.s, s.out = s.first.x+x, s.first.d+d, s.first.s+sums, s.first.out
}

// pair32 computes two panels of a format of 32 values. The bytes of a block's
// two panels lie side by side, its results too.
func (s *amxScratch) pair32(phase func(*tileArgs), f *amxFormat, b *dotArgs, rows int, blockBytes uintptr) {
	s.first = s.tileArgs
	s.xStep, s.b1, s.bStep, s.steps = 32, 512, 1024, 1
	for at := uintptr(0); at < b.blocks; at += chunk32 {
		n := min(chunk32, b.blocks-at)
		for p := range uintptr(2) {
			s.expand = expandArgs{w: s.panels + p*b.wStride + at*blockBytes, b: s.bytes + 512*p, scales: s.scales + 4*64*p, blocks: n}
			f.expand(&s.expand)
		}
		s.part(32*at, 4*at, 4*at)
		s.pairs, s.scale = n, amxCode(f.code+int(n)-1)
		s.run(phase, rows, 32)
	}
}

// pair256 computes two panels of a format of 256 values: pairs are the planes of
// a panel, or the two panels of one plane.
func (s *amxScratch) pair256(phase func(*tileArgs), f *amxFormat, b *dotArgs, rows int, blockBytes uintptr) {
	s.first = s.tileArgs
	planes := uintptr(f.planes)
	s.xStep, s.b1, s.bStep, s.steps, s.pairs = 64, planeBytes, 1024, 4, planes
	s.xPair, s.bPair = ^uintptr(255), planeBytes // 256 back; on over the other of the pair
	s.scale = amxCode(f.code)
	for at := range b.blocks {
		for p := range uintptr(2) {
			s.expand = expandArgs{w: s.panels + p*b.wStride + at*blockBytes, b: s.bytes + planes*planeBytes*p, scales: s.scales + kScales*p}
			f.expand(&s.expand)
		}
		s.part(256*at, 4*at, 2*subSums*at+f.sums)
		s.run(phase, rows, 64)
	}
}

// pairBF16 computes two panels whole: results stay in the tiles until the end.
func (s *amxScratch) pairBF16(phase func(*tileArgs), b *dotArgs, rows int, xStride uintptr) {
	s.xStride, s.xStep, s.b, s.b1, s.bStep = xStride, 64, s.panels, b.wStride, 1024
	s.t, s.tStride, s.tCol1, s.steps, s.pairs = s.out, s.outStride, 64, b.blocks, 1
	s.scale = amxCode(codeScaleBF16)
	s.run(phase, rows, 64)
}

// callProducts bounds a call's tile products, so that it takes some tens of
// microseconds with the vector phases between them.
const callProducts = 1024

// run computes all rows with k bytes of activations to a product. They are cut
// into blocks as equal as can be: first those with one row more.
func (s *amxScratch) run(phase func(*tileArgs), rows int, k uintptr) {
	blocks := (rows + blockRows - 1) / blockRows
	n, more := rows/blocks, rows%blocks
	most := max(1, callProducts/int(4*s.steps*s.pairs))
	for blocks > 0 {
		times := min(blocks, most)
		height := n
		if more > 0 {
			times, height = min(times, more), n+1
			more -= times
		}
		s.shape(uintptr(height), k)
		s.times = uintptr(times)
		phase(&s.tileArgs)
		blocks -= times
	}
}

// shape configures the tiles for blocks of so many rows, at least two, half of
// them in each tile, and k bytes of activations to a product.
func (a *tileArgs) shape(rows, k uintptr) {
	upper := (rows + 1) / 2
	a.rows, a.x1, a.tRow1 = rows, upper*a.xStride, upper*a.tStride
	a.config = [64]byte{0: 1} // the palette
	for t, c := range [8]struct{ rows, bytes uintptr }{
		{upper, 64}, {upper, 64}, {rows - upper, 64}, {rows - upper, 64}, // results
		{upper, k}, {rows - upper, k}, // activations
		{k / 4, 64}, {k / 4, 64}, // weights
	} {
		a.config[16+2*t], a.config[48+t] = byte(c.bytes), byte(c.rows)
	}
}
