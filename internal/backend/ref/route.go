package ref

import (
	"math"
	"slices"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// route chooses and weighs experts, each row on its own.
func (r *runner) route(op prog.Route) {
	bias := r.vector(op.Bias)
	for row := range r.rows(op.In) {
		ids, weights := r.row(op.Ids, row), r.row(op.Weights, row)
		scores := slices.Clone(r.row(op.In, row))
		switch op.Score {
		case prog.ScoreSoftmax:
			softmaxAll(scores)
		case prog.ScoreSigmoid:
			for i, x := range scores {
				scores[i] = sigmoid(x)
			}
		}
		ranks := slices.Clone(scores)
		for i := range bias {
			ranks[i] += bias[i]
		}
		for k, id := range best(ranks, openGroups(op, ranks), len(ids)) {
			ids[k], weights[k] = float32(id), scores[id]
		}
		if op.Score == prog.ScoreChosen {
			softmaxAll(weights)
		}
		if op.Norm {
			var sum float32
			for _, w := range weights {
				sum += w
			}
			sum = max(sum, prog.LeastWeights)
			for k := range weights {
				weights[k] /= sum
			}
		}
		for k := range weights {
			weights[k] = float32(weights[k] * op.Scale)
		}
	}
}

// sigmoid is 1 ÷ (1 + e^−x), each step rounded.
func sigmoid(x float32) float32 { return 1 / (1 + num.Exp32(-x)) }

// softmaxAll turns x into exp(x − max) × (1 ÷ sum), the sum in sixteen lanes.
func softmaxAll(x []float32) {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	for i, v := range x {
		x[i] = num.Exp32(v - top)
	}
	inv := 1 / sum(x)
	for i := range x {
		x[i] = float32(x[i] * inv)
	}
}

// best are the n candidates of the largest ranks, best first.
func best(ranks []float32, candidate func(i int) bool, n int) []int {
	var list []int
	for i := range ranks {
		if candidate(i) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		x, y := ranks[a], ranks[b]
		switch {
		case x > y || x == x && y != y:
			return -1
		case y > x || y == y && x != x:
			return 1
		}
		return a - b
	})
	return list[:n]
}

// openGroups tells the experts of the groups that are kept: those with the
// largest sum of their two best ranks.
func openGroups(op prog.Route, ranks []float32) func(i int) bool {
	size := len(ranks) / op.Groups
	if op.Groups == 1 {
		return func(int) bool { return true }
	}
	sums := make([]float32, op.Groups)
	for g := range sums {
		group := ranks[g*size : (g+1)*size]
		for _, i := range best(group, func(int) bool { return true }, min(2, size)) {
			sums[g] += group[i]
		}
	}
	kept := best(sums, func(int) bool { return true }, op.GroupsUsed)
	return func(i int) bool { return slices.Contains(kept, i/size) }
}

// rowScale multiplies each row by the sigmoid of its gate.
func (r *runner) rowScale(op prog.RowScale) {
	for row := range r.rows(op.Dst) {
		s, dst := sigmoid(r.row(op.Gate, row)[0]), r.row(op.Dst, row)
		for i := range dst {
			dst[i] = float32(dst[i] * s)
		}
	}
}
