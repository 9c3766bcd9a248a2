package cpu

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// expertPlan is a shape of experts: layers of one shape share its memory.
type expertPlan struct {
	rows            prog.RowKind
	experts, used   int
	in, hidden, out int
	gate, up, down  quant.ActKind
}

func (c *compiled) expertPlan(o prog.Experts) expertPlan {
	p, w := c.model.prog, c.model.weights
	return expertPlan{
		rows: p.Bufs[o.In].Rows, experts: p.Weights[o.Gate].Stack, used: p.Bufs[o.Ids].Width,
		in: p.Bufs[o.In].Width, hidden: p.Weights[o.Gate].Rows, out: p.Bufs[o.Out].Width,
		gate: w[o.Gate].format().Act, up: w[o.Up].format().Act, down: w[o.Down].format().Act,
	}
}

func (c *compiled) expertsOf(o prog.Experts) int {
	return place(&c.experts, c.expertPlan(o), func(a, b expertPlan) bool { return a == b })
}

// pairs is how many choices a step has at most: of each row, each of its ranks.
func (p expertPlan) pairs(l backend.Limits) int { return rowsOf(p.rows, l) * p.used }

// blocks is how many blocks of rows of one expert a step has at most.
func (p expertPlan) blocks(l backend.Limits) int {
	n := p.pairs(l)
	return min(n, p.experts) + n/rowsAtOnce
}

// bytes is the memory of newExpertRows.
func (p expertPlan) bytes(l backend.Limits) int64 {
	n := p.pairs(l)
	b := kern.ActBytes(p.gate, n, p.in) + kern.ActBytes(p.down, n, p.hidden)
	if p.up != p.gate {
		b += kern.ActBytes(p.up, n, p.in)
	}
	b += 4 * int64(n) * int64(2*strideOf(p.hidden)+strideOf(p.out))
	return b + 4*(2*int64(n)+int64(p.experts)+1) + 12*int64(p.blocks(l))
}

// expertRows is the memory of experts in a step. Its rows are pairs of a row of
// the batch and one of its ranks, sorted by expert, so that an expert's rows lie
// together whatever the batch:
//
//	batch    row 0: experts 5 2 │ row 1: experts 2 7
//	pairs    2: row 0, row 1 │ 5: row 0 │ 7: row 1
type expertRows struct {
	expertPlan
	rowOf   []int32 // pair → row
	pairOf  []int32 // row × used + rank → pair
	next    []int32 // expert → the pair after those placed so far
	listed  []expertBlock
	gateIn  *kern.Acts // the input's rows, rounded for the gate
	upIn    *kern.Acts // and for the up; often the same
	downIn  *kern.Acts // the hidden rows, rounded for the down
	gateOut buffer
	upOut   buffer
	downOut buffer
}

// expertBlock is some pairs of one expert.
type expertBlock struct{ expert, pair0, pair1 int32 }

func newExpertRows(p expertPlan, l backend.Limits) *expertRows {
	n := p.pairs(l)
	buf := func(width int) buffer {
		stride := strideOf(width)
		return buffer{heapFloats(n * stride), width, stride}
	}
	e := &expertRows{
		expertPlan: p, rowOf: make([]int32, 0, n), pairOf: make([]int32, n), next: make([]int32, p.experts+1),
		listed: make([]expertBlock, 0, p.blocks(l)),
		gateIn: kern.NewActs(p.gate, n, p.in), downIn: kern.NewActs(p.down, n, p.hidden),
		gateOut: buf(p.hidden), upOut: buf(p.hidden), downOut: buf(p.out),
	}
	e.upIn = e.gateIn
	if p.up != p.gate {
		e.upIn = kern.NewActs(p.up, n, p.in)
	}
	return e
}

// group sorts the choices of a step by expert, and an expert's by row.
func (e *expertRows) group(ids *buffer, rows int) {
	e.rowOf, e.listed = e.rowOf[:rows*e.used], e.listed[:0]
	clear(e.next)
	for row := range rows {
		for _, id := range ids.row(row) {
			e.next[int(id)+1]++
		}
	}
	for i := range e.experts {
		first, n := e.next[i], e.next[i+1]
		for at := int32(0); at < n; at += rowsAtOnce {
			e.listed = append(e.listed, expertBlock{int32(i), first + at, first + min(at+rowsAtOnce, n)})
		}
		e.next[i+1] += first
	}
	for row := range rows {
		for rank, id := range ids.row(row) {
			pair := e.next[int(id)]
			e.next[int(id)]++
			e.rowOf[pair], e.pairOf[row*e.used+rank] = int32(row), pair
		}
	}
}

// experts is five phases: the choices are sorted and their rows rounded, gate
// and up, the activation, down, and each row's sum in order of its ranks. A row
// of a product has the same bits whatever rows are beside it.
func (r *runner) experts(c *compiled, o prog.Experts, round []int) []phase {
	e := r.expertRows[c.expertsOf(o)]
	in, out, ids, weights := &r.bufs[o.In], &r.bufs[o.Out], &r.bufs[o.Ids], &r.bufs[o.Weights]
	sort := func() { e.group(ids, r.rows(e.rows)) }
	part := func(w, bias prog.WeightID, acts *kern.Acts, out *buffer) expertProduct {
		return expertProduct{r.weights[w].stack, acts, r.vector(bias), out}
	}
	return []phase{
		r.pairPhase(e, sort, roundCost*e.in, func(pair int) {
			x := in.row(int(e.rowOf[pair]))
			r.kern.Round(e.gateIn, pair, x)
			if e.upIn != e.gateIn {
				r.kern.Round(e.upIn, pair, x)
			}
		}),
		r.expertProducts(e, part(o.Gate, o.GateBias, e.gateIn, &e.gateOut), part(o.Up, o.UpBias, e.upIn, &e.upOut)),
		r.pairPhase(e, nil, gateCost*e.hidden, func(pair int) {
			gate := e.gateOut.row(pair)
			r.join(&o, gate, e.upOut.row(pair))
			r.kern.Round(e.downIn, pair, gate)
		}),
		r.expertProducts(e, part(o.Down, o.DownBias, e.downIn, &e.downOut)),
		r.rowPhase(e.rows, addCost*e.out*e.used, func(_ *worker, row int) {
			sum := out.row(row)
			clear(sum)
			for k, w := range weights.row(row) {
				r.kern.AddScaled(sum, e.downOut.row(int(e.pairOf[row*e.used+k])), w)
			}
			r.round(round, row)
		}),
	}
}

// pairPhase is a phase of pairs that cost about cost each. Prepare, which may be
// nil, runs before it.
func (r *runner) pairPhase(e *expertRows, prepare func(), cost int, do func(pair int)) phase {
	block := max(1, itemCost/max(cost, 1))
	return phase{
		items: func() int {
			if prepare != nil {
				prepare()
			}
			return (len(e.rowOf) + block - 1) / block
		},
		run: func(_ *worker, item int) {
			for pair := item * block; pair < min((item+1)*block, len(e.rowOf)); pair++ {
				do(pair)
			}
		},
	}
}

// join is gate = act(gate, up); a clamped up is overwritten.
func (r *runner) join(o *prog.Experts, gate, up []float32) {
	switch o.Act {
	case prog.ExpertGELU:
		r.kern.GELUMul(gate, gate, up)
		return
	case prog.ExpertClamped:
		inv := 1 / o.Alpha
		for i, g := range gate {
			u := min(max(up[i], -o.Limit), o.Limit)
			gate[i], up[i] = float32(o.Alpha*min(g, o.Limit)), float32((u+1)*inv)
		}
	}
	r.kern.SiLUMul(gate, gate, up)
}

// expertProduct is a stack of matrices, each for the rows of its expert.
type expertProduct struct {
	stack []*kern.Matrix
	acts  *kern.Acts
	bias  []float32 // of all experts, or nil
	out   *buffer
}

// expertProducts is a phase over experts with rows, the parts and panels of
// each. All parts have matrices of one shape.
func (r *runner) expertProducts(e *expertRows, parts ...expertProduct) phase {
	m := parts[0].stack[0]
	panels := panelsOfItem(m, rowsAtOnce)
	chunks := (m.Panels() + panels - 1) / panels
	return phase{
		cost: func() Cost {
			var c Cost
			for i, b := range e.listed {
				one := cost(m, int(b.pair1-b.pair0))
				if i > 0 && e.listed[i-1].expert == b.expert {
					one.Bytes = 0 // its panels were counted
				}
				for range parts {
					c = c.plus(one)
				}
			}
			return c
		},
		items: func() int { return len(e.listed) * len(parts) * chunks },
		run: func(w *worker, item int) {
			b := e.listed[item/(len(parts)*chunks)]
			p := &parts[item/chunks%len(parts)]
			m := p.stack[b.expert]
			panel0 := item % chunks * panels
			panel1 := min(panel0+panels, m.Panels())
			r.kern.Linear(&w.linear, m, p.acts, int(b.pair0), int(b.pair1), panel0, panel1, p.out.values, p.out.stride)
			if p.bias == nil {
				return
			}
			from, to := panel0*kern.Lanes, min(panel1*kern.Lanes, m.Rows)
			for pair := int(b.pair0); pair < int(b.pair1); pair++ {
				r.kern.Add(p.out.row(pair)[from:to], p.bias[int(b.expert)*m.Rows+from:int(b.expert)*m.Rows+to])
			}
		},
	}
}
