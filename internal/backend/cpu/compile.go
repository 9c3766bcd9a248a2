package cpu

import (
	"slices"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// compiled is what a program comes to on this backend, before memory is made
// for it: which rounded activations it needs and who makes them, its rotary
// tables and its shapes of attention.
type compiled struct {
	model  *model
	acts   []actsPlan
	ropes  []prog.Rope
	visits []visitPlan
	// Memory of experts and of products by heads.
	experts []expertPlan
	heads   []headPlan
	// round lists, for each op, the acts that it fills row by row after its own
	// work; alone marks ops whose input has to be rounded in a phase before them.
	round [][]int
	alone [][]int

	maxRow     int   // longest row of weights, its last block padded
	taps       int64 // values of convolutions
	maxQueries int
	maxValue   int
	inKeys     bool // some values are in the keys
}

// actsPlan is a buffer, rounded for a kind of format. Each has its own memory,
// so that a rounding made by the op that fills the buffer lasts until the op
// that uses it.
type actsPlan struct {
	buf  prog.BufID
	kind quant.ActKind
}

func compile(m *model, l backend.Limits) *compiled {
	c := &compiled{model: m, round: make([][]int, len(m.prog.Ops)), alone: make([][]int, len(m.prog.Ops))}
	writer := make([]int, len(m.prog.Bufs)) // buffer → the op that wrote it last
	for i, op := range m.prog.Ops {
		c.inputs(i, op, writer)
		c.shapes(op, l)
		for _, b := range outputs(op) {
			writer[b] = i
		}
	}
	return c
}

// inputs plans the rounding of a product's input: by the op that wrote it where
// that works row by row, else in a phase of its own.
func (c *compiled) inputs(i int, op prog.Op, writer []int) {
	var in prog.BufID
	var weights []prog.WeightID
	switch o := op.(type) {
	case prog.Linear:
		in = o.In
		for _, p := range o.Parts {
			weights = append(weights, p.W)
		}
	case prog.Head:
		in, weights = o.In, []prog.WeightID{o.W}
	default:
		return
	}
	for _, w := range weights {
		id := c.actsOf(in, c.model.weights[w].matrix.Format.Act)
		at := &c.alone[i]
		if byRows(c.model.prog.Ops[writer[in]]) {
			at = &c.round[writer[in]]
		}
		if !slices.Contains(*at, id) {
			*at = append(*at, id)
		}
	}
}

// byRows tells whether an op fills its output one whole row at a time, so that
// it can round the row while it is at hand.
func byRows(op prog.Op) bool {
	switch op.(type) {
	case prog.Embed, prog.Norm, prog.GateMul, prog.Activate, prog.AddTo, prog.TakeRows, prog.ShortConv, prog.Pool,
		prog.RowScale, prog.Experts:
		return true
	}
	return false
}

// outputs are the buffers that an op writes.
func outputs(op prog.Op) []prog.BufID {
	switch o := op.(type) {
	case prog.Embed:
		return []prog.BufID{o.Out}
	case prog.Norm:
		return []prog.BufID{o.Out, o.In}
	case prog.Linear:
		var out []prog.BufID
		for _, p := range o.Parts {
			out = append(out, p.Out)
		}
		return out
	case prog.RopeAppend:
		return []prog.BufID{o.Q, o.K}
	case prog.Attend:
		return []prog.BufID{o.Out}
	case prog.GateMul:
		return []prog.BufID{o.Out}
	case prog.Activate:
		return []prog.BufID{o.Out}
	case prog.AddTo:
		return []prog.BufID{o.Dst}
	case prog.TakeRows:
		return []prog.BufID{o.Out}
	case prog.ShortConv:
		return []prog.BufID{o.Out}
	case prog.Pool:
		return []prog.BufID{o.Out}
	case prog.Route:
		return []prog.BufID{o.Ids, o.Weights}
	case prog.RowScale:
		return []prog.BufID{o.Dst}
	case prog.Experts:
		return []prog.BufID{o.Out}
	case prog.HeadLinear:
		return []prog.BufID{o.Out}
	}
	return nil
}

// shapes notes what an op needs of the workers' memory and of the tables that
// are made once a step.
func (c *compiled) shapes(op prog.Op, l backend.Limits) {
	switch o := op.(type) {
	case prog.Embed:
		c.maxRow = max(c.maxRow, c.rowOf(o.W))
		if o.Pos != prog.NoWeight {
			c.maxRow = max(c.maxRow, c.rowOf(o.Pos))
		}
	case prog.ShortConv:
		c.maxRow = max(c.maxRow, c.rowOf(o.W), 2*c.model.prog.Bufs[o.Out].Width)
		c.taps += int64(o.Taps) * int64(c.model.prog.Bufs[o.Out].Width)
	case prog.Experts:
		c.expertsOf(o)
	case prog.HeadLinear:
		c.headsOf(o)
	case prog.RopeAppend:
		c.ropeOf(o.Rope)
	case prog.Attend:
		v := c.model.prog.KV[o.KV]
		plan := c.visits[c.visitOf(o)]
		c.maxQueries = max(c.maxQueries, min(plan.rows, l.Rows)*plan.heads)
		c.maxValue = max(c.maxValue, v.ValueDim)
		c.inKeys = c.inKeys || v.Prefix
	}
}

// rowOf is the length of a matrix's row, its last block padded.
func (c *compiled) rowOf(w prog.WeightID) int {
	m := c.model.weights[w].matrix
	return m.Format.Blocks(m.Cols) * m.Format.BlockElems
}

func (c *compiled) actsOf(b prog.BufID, kind quant.ActKind) int {
	return place(&c.acts, actsPlan{b, kind}, func(a, b actsPlan) bool { return a == b })
}

// ropeOf is the table of a rope; −1 for none.
func (c *compiled) ropeOf(r prog.Rope) int {
	if r.Dim == 0 {
		return -1
	}
	// The order of pairs is the user's: it changes no angle.
	return place(&c.ropes, r, func(a, b prog.Rope) bool { return a.Mag == b.Mag && slices.Equal(a.Freqs, b.Freqs) })
}

func (c *compiled) visitOf(o prog.Attend) int {
	return place(&c.visits, newVisitPlan(o, c.model.prog.KV[o.KV]), func(a, b visitPlan) bool { return a == b })
}

// place finds v in the list, adding it if need be.
func place[T any](list *[]T, v T, same func(a, b T) bool) int {
	for i, x := range *list {
		if same(x, v) {
			return i
		}
	}
	*list = append(*list, v)
	return len(*list) - 1
}

func (c *compiled) newWorker() *worker {
	attend := kern.NewAttendScratch(c.maxQueries, c.maxValue)
	if c.inKeys {
		attend.ReserveInKeys()
	}
	w := &worker{row: make([]float32, c.maxRow), attend: attend}
	c.model.device.kern.Reserve(&w.linear)
	return w
}

// bytes is the memory of a runner beside its cache.
func (c *compiled) bytes(l backend.Limits) int64 {
	var n int64
	for _, b := range c.model.prog.Bufs {
		n += 4 * int64(rowsOf(b.Rows, l)) * int64(strideOf(b.Width))
	}
	for _, a := range c.acts {
		b := c.model.prog.Bufs[a.buf]
		n += kern.ActBytes(a.kind, rowsOf(b.Rows, l), b.Width)
	}
	for _, e := range c.experts {
		n += e.bytes(l)
	}
	for _, h := range c.heads {
		n += c.headBytes(h, l)
	}
	for _, r := range c.ropes {
		n += 8 * int64(l.Rows) * int64(len(r.Freqs))
	}
	parts := 0
	for _, v := range c.visits {
		lists, floats := v.bytes(l, c.model.device.threads)
		n, parts = n+lists, max(parts, floats)
	}
	n += 4*int64(parts) + 4*c.taps
	worker := kern.AttendScratchBytes(c.maxQueries, c.maxValue) + 4*int64(c.maxRow)
	if c.inKeys {
		worker += kern.InKeysBytes(c.maxValue)
	}
	return n + int64(c.model.device.threads)*worker
}
