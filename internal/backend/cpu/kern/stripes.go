package kern

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/race"
)

// Streams is how many runs of panels Stripes reads side by side.
const Streams = 4

// Stripes computes rows row0…row1 of x, as Linear does, times four runs of
// panels of m: n panels each, of which the first begins with panel and the
// others so many panels apart. Panels of the four runs are read together:
//
//	      panel                 panel + apart
//	m   ──┼───────────╂───────────┼───────────╂─────── ─ ─
//	      │ n │ n │ n ┃           │ n │ n │ n ┃
//	       now next               now next
//
// A caller that goes on with the n panels after those continues all streams:
// memory is read in pieces as long as the distance, and what was asked for in
// advance is what comes next. That is a fifth faster than panels that are
// neighbours where an inner dimension is short, so it is meant for few rows,
// which memory bounds. All panels must have 16 outputs. Otherwise as Linear.
func (k *Kernels) Stripes(sc *LinearScratch, m *Matrix, x *Acts, row0, row1, panel, n, apart int, out []float32, stride int) {
	checkKind(m, x)
	last := panel + (Streams-1)*apart + n // exclusive
	if row0 < 0 || row1 > x.Rows || panel < 0 || n > apart || last*Lanes > m.Rows || stride < m.Rows {
		panic(fmt.Sprintf("kern: rows %d to %d of %d, %d runs of %d panels from %d on, %d apart, %d outputs in a stride of %d", row0, row1, x.Rows, Streams, n, panel, apart, m.Rows, stride))
	}
	if row0 >= row1 || n <= 0 {
		return
	}
	_ = out[(row1-1)*stride+last*Lanes-1]
	if race.Enabled {
		for s := range Streams {
			watchLinear(m, x, row0, row1, panel+s*apart, panel+s*apart+n, out, stride)
		}
	}
	j := k.job(sc, m, x, out, stride)
	if !k.striped[m.Format.index] {
		for s := range Streams {
			j.sweep(row0, row1, panel+s*apart, panel+s*apart+n)
		}
		sc.args = dotArgs{}
		return
	}
	width := j.width(row1-row0, Streams)
	if row1 == row0+1 {
		j.base.count = uintptr(n)
		for s := 0; s < Streams; s += width {
			j.run(j.tile(width, 1), row0, panel+s*apart, apart)
		}
		sc.args = dotArgs{}
		return
	}
	for i := range n {
		for s := 0; s < Streams; s += width {
			p, next := panel+i+s*apart, panel+i+1
			if s+width < Streams {
				next = p + width*apart
			}
			j.group(row0, row1, p, width, apart, next)
		}
	}
	sc.args = dotArgs{} // keep no pointer alive
}
