package cpu

import (
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// product is one matrix of a Linear, or the head's.
type product struct {
	matrix *kern.Matrix
	acts   *kern.Acts
	bias   []float32
	out    *buffer // nil: the step's logits
	scale  float32 // of logits
	cap    float32 // of logits; 0: none

	chunks  int // of panels, in this step
	stripes stripes
}

func (r *runner) product(c *compiled, in prog.BufID, w, bias prog.WeightID, out prog.BufID) product {
	m := r.weights[w].matrix
	p := product{matrix: m, acts: r.acts[c.actsOf(in, m.Format.Act)], bias: r.vector(bias), scale: 1}
	if out != prog.NoBuf {
		p.out = &r.bufs[out]
	}
	return p
}

// How a product is cut into items. Four panels in flight hide the latency of
// memory; some tens of kilobytes of weights make an item of a few microseconds
// where memory is the bound (few rows, see stripes), and rows are cut so that an
// item of many rows stays well under 100 µs.
const (
	panelsAtOnce = 4
	itemBytes    = 64 << 10
	rowsAtOnce   = 32
	itemWork     = 16 << 20 // multiplications
)

// panelsOfItem is how many panels of a matrix an item takes, with so many rows.
func panelsOfItem(m *kern.Matrix, rows int) int {
	bytes := itemBytes / m.Format.PanelBytes(m.Cols)
	work := itemWork / (kern.Lanes * m.Cols * rows)
	return max(panelsAtOnce, min(bytes, work)/panelsAtOnce*panelsAtOnce)
}

// linear is a phase over panels and rows of all parts. Items of the same panels
// follow one another, so that their weights are still in the cache.
func (r *runner) linear(rows prog.RowKind, parts []product) phase {
	var rowBlock, rowBlocks, panels int // of this step
	var few bool
	return phase{
		cost: func() Cost {
			var c Cost
			for i := range parts {
				c = c.plus(cost(parts[i].matrix, r.rows(rows)))
			}
			return c
		},
		items: func() int {
			n := r.rows(rows)
			if n == 0 {
				return 0
			}
			items := 0
			if few = n <= stripedRows; few {
				for i := range parts {
					items += parts[i].stripes.cut(parts[i].matrix, len(r.pool.workers))
				}
				return items
			}
			rowBlock = min(n, r.kern.RowsAtOnce(parts[0].matrix.Format))
			rowBlocks = (n + rowBlock - 1) / rowBlock
			panels = panelsOfItem(parts[0].matrix, rowBlock)
			for i := range parts {
				parts[i].chunks = (parts[i].matrix.Panels() + panels - 1) / panels
				items += parts[i].chunks * rowBlocks
			}
			return items
		},
		run: func(w *worker, item int) {
			if few {
				p := &parts[0]
				for i := 1; item >= p.stripes.items(); i++ {
					item -= p.stripes.items()
					p = &parts[i]
				}
				r.stripe(w, p, item, r.rows(rows))
				return
			}
			chunk, block := item/rowBlocks, item%rowBlocks
			p := &parts[0]
			for i := 1; chunk >= p.chunks; i++ {
				chunk -= p.chunks
				p = &parts[i]
			}
			row0, row1 := block*rowBlock, min((block+1)*rowBlock, r.rows(rows))
			panel0, panel1 := chunk*panels, min((chunk+1)*panels, p.matrix.Panels())
			out, stride := r.output(p)
			r.kern.Linear(&w.linear, p.matrix, p.acts, row0, row1, panel0, panel1, out, stride)
			r.finish(p, out, stride, row0, row1, panel0, panel1)
		},
	}
}

// output is where the products of p go.
func (r *runner) output(p *product) (out []float32, stride int) {
	if p.out == nil {
		return r.logits, r.prog.Vocab
	}
	return p.out.values, p.out.stride
}

// finish does what follows the dot products of some rows and panels: bias, scale
// and cap.
func (r *runner) finish(p *product, out []float32, stride, row0, row1, panel0, panel1 int) {
	if p.bias == nil && p.scale == 1 && p.cap == 0 {
		return
	}
	from, to := panel0*kern.Lanes, min(panel1*kern.Lanes, p.matrix.Rows)
	for row := row0; row < row1; row++ {
		values := out[row*stride+from : row*stride+to]
		if p.bias != nil {
			r.kern.Add(values, p.bias[from:to])
		}
		if p.scale != 1 {
			for i, v := range values {
				values[i] = float32(v * p.scale)
			}
		}
		if p.cap != 0 {
			r.kern.Softcap(values, p.cap)
		}
	}
}
