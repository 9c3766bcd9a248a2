package cpu

import "github.com/paddock-go/paddock/internal/backend/cpu/kern"

// stripedRows is up to how many rows the memory's rate counts, and items are cut
// for it.
const stripedRows = 16

// stripeBytes is what an item of few rows reads at most: some ten microseconds at
// one row. Each item begins with waiting: in items of a quarter of that, decode
// of 0.6b was a tenth to a fifth slower, and with items that halve towards the end
// a twentieth.
const stripeBytes = 256 << 10

// stripes cuts a matrix into a share for each worker, and each share into
// kern.Streams stripes that are read side by side. Items take some panels of
// each stripe, and those of the shares alternate:
//
//	  worker 0's share                worker 1's share
//	┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┬────┐
//	│0 2 4 …│0 2 4 …│0 2 4 …│0 2 4 …│1 3 5 …│1 3 5 …│1 3 5 …│1 3 5 …│rest│
//	└───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┴────┘
//
// As long as workers keep pace, each of them walks along its own stripes, and
// what it has asked the memory for in advance is what its next item begins
// with; when they don't, any of them takes any item. The rest, panels that don't
// fill a stripe, and the last one if it has fewer than 16 outputs, are items of
// neighbours.
type stripes struct {
	shares, length int // how many shares; panels of a stripe
	n, steps       int // panels of a stripe that an item takes; items of a share
	rest           int // items of the rest
}

// cut lays the stripes for so many workers, and returns the number of items.
func (s *stripes) cut(m *kern.Matrix, workers int) int {
	full := m.Rows / kern.Lanes
	*s = stripes{shares: workers, length: full / (workers * kern.Streams)}
	if s.length > 0 {
		s.n = min(s.length, max(1, stripeBytes/(kern.Streams*m.Format.PanelBytes(m.Cols))))
		s.steps = (s.length + s.n - 1) / s.n
	}
	s.rest = (m.Panels() - s.first() + panelsAtOnce - 1) / panelsAtOnce
	return s.items()
}

// first is the first panel of the rest.
func (s *stripes) first() int { return s.shares * kern.Streams * s.length }

func (s *stripes) items() int { return s.shares*s.steps + s.rest }

// panels are those of an item of a matrix of so many: runs of n, so far apart.
func (s *stripes) panels(item, panels int) (from, n, apart, runs int) {
	if rest := item - s.shares*s.steps; rest >= 0 {
		from = s.first() + rest*panelsAtOnce
		n = min(panelsAtOnce, panels-from)
		return from, n, n, 1
	}
	share, at := item%s.shares, item/s.shares*s.n
	return share*kern.Streams*s.length + at, min(s.n, s.length-at), s.length, kern.Streams
}

// stripe does an item of p, all rows.
func (r *runner) stripe(w *worker, p *product, item, rows int) {
	out, stride := r.output(p)
	from, n, apart, runs := p.stripes.panels(item, p.matrix.Panels())
	if runs == 1 {
		r.kern.Linear(&w.linear, p.matrix, p.acts, 0, rows, from, from+n, out, stride)
	} else {
		r.kern.Stripes(&w.linear, p.matrix, p.acts, 0, rows, from, n, apart, out, stride)
	}
	for i := range runs {
		r.finish(p, out, stride, 0, rows, from+i*apart, from+i*apart+n)
	}
}
