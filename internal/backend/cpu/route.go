package cpu

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

const routeCost = 24 // of an expert

// route chooses and weighs experts, each row by one worker. The logits are
// overwritten by the scores.
func (r *runner) route(o prog.Route) phase {
	in, ids, weights := &r.bufs[o.In], &r.bufs[o.Ids], &r.bufs[o.Weights]
	bias := r.vector(o.Bias)
	return r.rowPhase(r.prog.Bufs[o.In].Rows, routeCost*in.width, func(_ *worker, row int) {
		scores, w := in.row(row), weights.row(row)
		switch o.Score {
		case prog.ScoreSoftmax:
			r.kern.Softmax(scores)
		case prog.ScoreSigmoid:
			for i, x := range scores {
				scores[i] = sigmoid(x)
			}
		}
		choose(&o, scores, bias, ids.row(row))
		for k, id := range ids.row(row) {
			w[k] = scores[int(id)]
		}
		if o.Score == prog.ScoreChosen {
			r.kern.Softmax(w)
		}
		weigh(w, o.Norm, o.Scale)
	})
}

// weigh normalises and scales the weights of a row.
func weigh(w []float32, norm bool, scale float32) {
	if norm {
		var sum float32
		for _, v := range w {
			sum += v
		}
		sum = max(sum, prog.LeastWeights)
		for k := range w {
			w[k] /= sum
		}
	}
	for k := range w {
		w[k] = float32(w[k] * scale)
	}
}

// choose writes the indices of the largest scores + bias, best first.
func choose(o *prog.Route, scores, bias, ids []float32) {
	size := len(scores) / o.Groups
	open := ^uint64(0)
	if o.Groups > 1 {
		open = openGroups(o, scores, bias)
	}
	last := pick{value: float32(math.Inf(1)), id: -1}
	for k := range ids {
		next := pick{id: -1}
		for g := range o.Groups {
			if open>>g&1 != 0 {
				next = next.best(scores, bias, g*size, (g+1)*size, last)
			}
		}
		ids[k] = float32(next.id)
		last = next
	}
}

// openGroups marks the groups that are kept: of the largest sums of their two
// best.
func openGroups(o *prog.Route, scores, bias []float32) uint64 {
	size := len(scores) / o.Groups
	var sums [64]float32
	top := pick{value: float32(math.Inf(1)), id: -1}
	for g := range o.Groups {
		first := pick{id: -1}.best(scores, bias, g*size, (g+1)*size, top)
		sums[g] = first.value
		if size > 1 {
			sums[g] += pick{id: -1}.best(scores, bias, g*size, (g+1)*size, first).value
		}
	}
	var open uint64
	last := top
	for range o.GroupsUsed {
		last = pick{id: -1}.best(sums[:o.Groups], nil, 0, o.Groups, last)
		open |= 1 << last.id
	}
	return open
}

// pick is an element in the order of a choice: larger values first, NaN after
// all numbers, ties by index. The order is total, so that the next best is the
// best of those behind the last.
type pick struct {
	value float32
	id    int // −1: none
}

// before tells whether p comes before q.
func (p pick) before(q pick) bool {
	switch {
	case p.value > q.value || p.value == p.value && q.value != q.value:
		return true
	case q.value > p.value || q.value == q.value && p.value != p.value:
		return false
	}
	return p.id < q.id
}

// best is the first of p and the elements from…to that come behind last.
func (p pick) best(scores, bias []float32, from, to int, last pick) pick {
	for i := from; i < to; i++ {
		q := pick{scores[i], i}
		if bias != nil {
			q.value += bias[i]
		}
		if last.before(q) && (p.id < 0 || q.before(p)) {
			p = q
		}
	}
	return p
}

// sigmoid is 1 ÷ (1 + e^−x), each step rounded.
func sigmoid(x float32) float32 { return 1 / (1 + num.Exp32(-x)) }

// rowScale multiplies each row by the sigmoid of its gate.
func (r *runner) rowScale(o prog.RowScale, round []int) phase {
	dst, gate := &r.bufs[o.Dst], &r.bufs[o.Gate]
	return r.rowPhase(r.prog.Bufs[o.Dst].Rows, addCost*dst.width, func(_ *worker, row int) {
		s, x := sigmoid(gate.row(row)[0]), dst.row(row)
		for i := range x {
			x[i] = float32(x[i] * s)
		}
		r.round(round, row)
	})
}
