package engine

import (
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/sched"
)

// work is what a step is estimated to do.
type work struct {
	flops       float64
	read, write float64 // bytes
}

func (w *work) add(o work) {
	w.flops += o.flops
	w.read += o.read
	w.write += o.write
}

func (w work) times(n int) work {
	return work{w.flops * float64(n), w.read * float64(n), w.write * float64(n)}
}

// estimator knows what a program costs, by the kind of its rows. It counts matrix
// products and attention, as model utilisation is usually counted: no norms, no
// rotation, no sums.
//
//	Linear, Head  n rows     2·n·in·out flops; reads n·in and the weights once a step; writes n·out
//	HeadLinear    n rows     the same, for each head; in and out are heads
//	Experts       n rows     2·n·used·(gate + up + down) flops; reads min(n·used, all) experts' weights once a
//	                         step, and n·in; writes n·out
//	Attend        each row   2·heads·(key dim + value dim) flops for each key that the row sees, itself included
//	              n rows     reads n·heads·dim, and the keys and values of each sequence once
//	RopeAppend    n rows     writes n keys and values
//	GateMul       n rows     reads 2·n·width; writes n·width
//
// Rows are what the program makes of them: the last layer goes on with those that
// want logits alone. A row that verifies a draft is a row like any other.
type estimator struct {
	row     [2]work    // of one row, by prog.RowKind
	weights [2]float64 // bytes read by a step that has such rows
	attends []attend
	experts []experts
}

// experts is a layer of which a row reads a part.
type experts struct {
	rows      prog.RowKind
	used, all int
	bytes     float64 // of one expert
}

// attend is what all layers with one window do for a key.
type attend struct {
	window int     // 0: none
	both   bool    // rows also see what comes after them
	flops  float64 // for each row that sees it
	read   float64 // bytes, for each sequence that has it in view
}

const activationBytes = 4 // all backends compute in float32

// newEstimator prices a program whose weights take as many bytes as size says, over
// a KV cache of a type.
func newEstimator(p *prog.Program, size func(prog.Weight) int64, kv KVType) *estimator {
	e := &estimator{}
	matrix := func(in prog.BufID, id prog.WeightID) {
		w, rows := p.Weights[id].Flat(), p.Bufs[in].Rows
		e.row[rows].flops += 2 * float64(w.Rows) * float64(w.Cols)
		e.row[rows].write += activationBytes * float64(w.Rows)
		e.weights[rows] += float64(size(w))
	}
	input := func(in prog.BufID, times int) {
		b := p.Bufs[in]
		e.row[b.Rows].read += activationBytes * float64(times) * float64(b.Width)
	}
	for _, op := range p.Ops {
		switch o := op.(type) {
		case prog.Linear:
			input(o.In, 1)
			for _, part := range o.Parts {
				matrix(o.In, part.W)
			}
		case prog.Head:
			input(o.In, 1)
			matrix(o.In, o.W)
		case prog.HeadLinear:
			input(o.In, 1)
			matrix(o.In, o.W)
		case prog.Experts:
			input(o.In, 1)
			e.addExperts(p, o, size)
		case prog.RopeAppend:
			e.row[prog.TokenRows].write += float64(kv.LayerBytes(p, o.KV))
		case prog.Attend:
			input(o.Q, 1)
			a := e.attend(o.Window, o.Both)
			a.flops += 2 * float64(o.Heads) * float64(o.HeadDim+p.KV[o.KV].ValueDim)
			a.read += float64(kv.LayerBytes(p, o.KV))
		case prog.GateMul:
			input(o.Gate, 1)
			input(o.Up, 1)
			b := p.Bufs[o.Out]
			e.row[b.Rows].write += activationBytes * float64(b.Width)
		}
	}
	return e
}

// addExperts prices a layer of experts.
func (e *estimator) addExperts(p *prog.Program, o prog.Experts, size func(prog.Weight) int64) {
	used, rows := p.Bufs[o.Ids].Width, p.Bufs[o.In].Rows
	x := experts{rows: rows, used: used, all: p.Weights[o.Gate].Stack}
	for _, id := range []prog.WeightID{o.Gate, o.Up, o.Down} {
		w := p.Weights[id]
		e.row[rows].flops += 2 * float64(used) * float64(w.Rows) * float64(w.Cols)
		x.bytes += float64(size(w)) / float64(w.Stack)
	}
	e.row[rows].write += activationBytes * float64(p.Bufs[o.Out].Width)
	e.experts = append(e.experts, x)
}

// attend is the sum of the layers with such a window.
func (e *estimator) attend(window int, both bool) *attend {
	for i := range e.attends {
		if e.attends[i].window == window && e.attends[i].both == both {
			return &e.attends[i]
		}
	}
	e.attends = append(e.attends, attend{window: window, both: both})
	return &e.attends[len(e.attends)-1]
}

// step estimates a plan. It allocates nothing.
func (e *estimator) step(plan *sched.Plan) work {
	var w work
	var rows [2]int
	for i := range plan.Spans {
		s := &plan.Spans[i]
		rows[prog.TokenRows] += s.Count
		rows[prog.LogitRows] += s.Logits
		for _, a := range e.attends {
			if a.both {
				w.flops += a.flops * keysAround(s.Count, a.window)
				w.read += a.read * float64(s.Count)
				continue
			}
			w.flops += a.flops * keysSeen(s.From, s.Count, a.window)
			w.read += a.read * float64(keysInView(s.From, s.Count, a.window))
		}
	}
	for kind, n := range rows {
		if n > 0 {
			w.add(e.row[kind].times(n))
			w.read += e.weights[kind]
		}
	}
	for _, x := range e.experts {
		w.read += x.bytes * float64(min(rows[x.rows]*x.used, x.all))
	}
	return w
}

// keysSeen adds up what each of count rows from position from on sees: all keys up
// to its own, cached ones too, or the latest window of them.
func keysSeen(from, count, window int) float64 {
	whole := count // rows that see everything before them
	if window > 0 {
		whole = min(count, max(0, window-from))
	}
	n, f := float64(whole), float64(from)
	return n*f + n*(n+1)/2 + float64(count-whole)*float64(window)
}

// keysAround adds up what the rows of a whole sequence see that look both ways, a
// window reaching half of it to either side.
func keysAround(count, window int) float64 {
	half := window / 2
	if window == 0 || half >= count {
		half = count - 1
	}
	n, h := float64(count), float64(half)
	return n*(2*h+1) - h*(h+1) // what lies before the first row and behind the last is not there
}

// keysInView is the number of keys that at least one of the rows sees.
func keysInView(from, count, window int) int {
	if window > 0 {
		return min(from+count, count+window-1)
	}
	return from + count
}
