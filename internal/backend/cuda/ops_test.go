package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// someRows is a step of a few sequences for ops that look at no sequence.
var someRows = []stretch{{3, 2}, {17, 1}, {5, 4}}

// rowsStand is a stand for an op of buffers of so many values; the first weights are
// vectors.
func rowsStand(t *testing.T, seed uint64, o prog.Op, rows prog.RowKind, widths []int, vectors ...[]float32) *stand {
	t.Helper()
	p := &prog.Program{Vocab: 10, Embd: 8, Context: 64, Ops: []prog.Op{o}}
	for _, w := range widths {
		p.Bufs = append(p.Bufs, prog.Buffer{Name: "buffer", Width: w, Rows: rows})
	}
	for _, v := range vectors {
		p.Weights = append(p.Weights, prog.Weight{Tensor: "vector", Kind: prog.Vector, Rows: 1, Cols: len(v)})
	}
	l := roomFor(16, backend.KVF32, someRows...)
	return newStand(t, seed, p, l, batchOf(rand.New(rand.NewPCG(seed, 3)), l, someRows...), vectors...)
}

// TestNorm holds both norms with and without residual and bias, in place too.
func TestNorm(t *testing.T) {
	for i, width := range []int{1, 7, 32, 100, 130, 4096, 4099} {
		for _, kind := range []prog.NormKind{prog.RMS, prog.LayerNorm} {
			t.Run(fmt.Sprintf("%v-%d", kind, width), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(width), 1))
				w, bias := make([]float32, width), make([]float32, width)
				for i := range w {
					w[i], bias[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
				}
				o := prog.Norm{In: 0, Out: 2, Add: 1, W: 0, Bias: 1, Norm: kind, Eps: 1e-5}
				if i%2 == 0 {
					o.Bias = prog.NoWeight
				}
				if i%3 == 0 {
					o.Add = prog.NoBuf
				}
				if i%3 == 1 {
					o.Out = 0
				}
				s := rowsStand(t, uint64(i), o, prog.RowKind(i%2), []int{width, width, width}, w, bias)
				x, add := s.fill(0, 3), s.fill(1, 1)
				s.run()
				if o.Add != prog.NoBuf {
					for i := range x {
						x[i] += add[i]
					}
				}
				if o.Out != 0 {
					s.same("residual", s.values(0), x)
				}
				var want []float64
				for from := 0; from < len(x); from += width {
					want = append(want, normed(o, x[from:from+width], w, bias)...)
				}
				s.near("out", s.values(o.Out), want, width, 2e-6)
			})
		}
	}
}

func normed(o prog.Norm, x, w, bias []float32) []float64 {
	n, mean, squares := float64(len(x)), 0., 0.
	if o.Norm == prog.LayerNorm {
		for _, v := range x {
			mean += float64(v) / n
		}
	}
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (float64(v) - mean) / math.Sqrt(squares/n+float64(o.Eps)) * float64(w[i])
		if o.Bias != prog.NoWeight {
			out[i] += float64(bias[i])
		}
	}
	return out
}

// awkward are values around which activations turn.
var awkward = []float32{0, float32(math.Copysign(0, -1)), 9.9999, 10, -10, -9.9999, 87, 88, 89, -87.5, -104, 1e-30, -1e-40, 1e30, -1e30,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 6e-5, 5.96e-8, 65504}

// TestActivations holds activations to the CPU's bits.
func TestActivations(t *testing.T) {
	acts := map[prog.Act]func(float32) float32{prog.SiLU: num.SiLU32, prog.GELU: num.GELU32, prog.Tanh: num.Tanh32}
	for act, f := range acts {
		for _, width := range []int{64, 37} {
			for _, gated := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v-%d-%v", act, width, gated), func(t *testing.T) {
					var o prog.Op = prog.Activate{In: 0, Out: 2, Act: act}
					if gated {
						o = prog.GateMul{Gate: 0, Up: 1, Out: 2, Act: act}
					}
					s := rowsStand(t, uint64(width), o, prog.TokenRows, []int{width, width, width})
					x, up := s.fill(0, 4), s.fill(1, 2)
					copy(x, awkward)
					s.write(s.rig.buf(0), x)
					s.run()
					want := make([]float32, len(x))
					for i := range x {
						want[i] = f(x[i])
						if gated {
							want[i] = float32(want[i] * up[i])
						}
					}
					s.same("out", s.values(2), want)
				})
			}
		}
	}
}

// TestRows holds what adds, scales, takes and hands out rows.
func TestRows(t *testing.T) {
	for _, width := range []int{36, 45, 300} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			s := rowsStand(t, 1, prog.AddTo{Dst: 0, Src: 1, Scale: 0.3}, prog.LogitRows, []int{width, width})
			x, y := s.fill(0, 1), s.fill(1, 1)
			s.run()
			for i := range x {
				x[i] = num.FMA32(y[i], 0.3, x[i])
			}
			s.same("sum", s.values(0), x)

			s = rowsStand(t, 2, prog.RowScale{Dst: 0, Gate: 1}, prog.TokenRows, []int{width, 1})
			x, y = s.fill(0, 1), s.fill(1, 3)
			s.run()
			for i := range x {
				x[i] = float32(x[i] * (1 / (1 + num.Exp32(-y[i/width]))))
			}
			s.same("scaled", s.values(0), x)

			s = rowsStand(t, 3, prog.TakeRows{In: 0, Out: 1}, prog.TokenRows, []int{width, width})
			s.rig.prog.Bufs[1].Rows = prog.LogitRows
			x = s.fill(0, 1)
			s.run()
			var want []float32
			for _, row := range s.batch.Logits {
				want = append(want, x[int(row)*width:int(row+1)*width]...)
			}
			s.same("taken", s.values(1), want)

			s = rowsStand(t, 4, prog.Output{In: 0}, prog.LogitRows, []int{width})
			x = s.fill(0, 1)
			s.run()
			s.same("output", s.read(s.rig.logits, len(x)), x)
		})
	}
}

// routed is prog.Route of one row, as internal/backend/ref has it.
func routed(o prog.Route, logits, bias []float32, n int) (ids, weights []float32) {
	softmax := func(x []float32) {
		top := float32(math.Inf(-1))
		for _, v := range x {
			if v > top {
				top = v
			}
		}
		var lanes [16]float32
		for i, v := range x {
			x[i] = num.Exp32(v - top)
			lanes[i%16] += x[i]
		}
		inv := 1 / num.Tree16(&lanes)
		for i := range x {
			x[i] = float32(x[i] * inv)
		}
	}
	scores := append([]float32(nil), logits...)
	switch o.Score {
	case prog.ScoreSoftmax:
		softmax(scores)
	case prog.ScoreSigmoid:
		for i, x := range scores {
			scores[i] = 1 / (1 + num.Exp32(-x))
		}
	}
	ranks := append([]float32(nil), scores...)
	for i := range bias {
		ranks[i] += bias[i]
	}
	best := func(ranks []float32, ids []int, n int) []int {
		ids = append([]int(nil), ids...)
		sort.SliceStable(ids, func(i, j int) bool {
			x, y := ranks[ids[i]], ranks[ids[j]]
			return x > y || x == x && y != y
		})
		return ids[:n]
	}
	size := len(ranks) / o.Groups
	run := func(from, to int) (list []int) {
		for i := from; i < to; i++ {
			list = append(list, i)
		}
		return list
	}
	sums := make([]float32, o.Groups)
	for g := range sums {
		for _, i := range best(ranks, run(g*size, (g+1)*size), min(2, size)) {
			sums[g] += ranks[i]
		}
	}
	var open []int
	kept := best(sums, run(0, o.Groups), o.GroupsUsed)
	sort.Ints(kept)
	for _, g := range kept {
		open = append(open, run(g*size, (g+1)*size)...)
	}
	var sum float32
	for _, i := range best(ranks, open, n) {
		ids, weights = append(ids, float32(i)), append(weights, scores[i])
	}
	if o.Score == prog.ScoreChosen {
		softmax(weights)
	}
	for _, w := range weights {
		sum += w
	}
	for k := range weights {
		if o.Norm {
			weights[k] /= max(sum, prog.LeastWeights)
		}
		weights[k] = float32(weights[k] * o.Scale)
	}
	return ids, weights
}

// TestRoute holds the choice of experts, ties and NaN among them, to the CPU's bits.
func TestRoute(t *testing.T) {
	for i, c := range []struct {
		experts, chosen, groups, used int
		bias, norm                    bool
		scale                         float32
	}{
		{4, 2, 1, 1, false, true, 1}, {8, 8, 1, 1, true, false, 1}, {60, 4, 1, 1, false, false, 1},
		{128, 8, 1, 1, false, true, 1}, {96, 6, 48, 3, true, true, 2.5}, {256, 8, 8, 4, true, true, 2.5}, {5, 1, 5, 2, false, true, 1},
	} {
		for _, score := range []prog.Score{prog.ScoreSoftmax, prog.ScoreSigmoid, prog.ScoreChosen} {
			t.Run(fmt.Sprintf("%v-%d-of-%d", score, c.chosen, c.experts), func(t *testing.T) {
				o := prog.Route{In: 0, Ids: 1, Weights: 2, Score: score, Bias: prog.NoWeight, Groups: c.groups, GroupsUsed: c.used, Norm: c.norm, Scale: c.scale}
				var vectors [][]float32
				var bias []float32
				if c.bias {
					rng := rand.New(rand.NewPCG(9, uint64(i)))
					for range c.experts {
						bias = append(bias, float32(rng.NormFloat64()))
					}
					o.Bias, vectors = 0, [][]float32{bias}
				}
				s := rowsStand(t, uint64(i), o, prog.TokenRows, []int{c.experts, c.chosen, c.chosen}, vectors...)
				x := s.fill(0, 2)
				for j := range x { // ties, in some rows, and NaN in the last
					if j/c.experts%2 == 1 {
						x[j] = float32(math.Round(float64(x[j])))
					}
				}
				x[len(x)-1] = float32(math.NaN())
				s.write(s.rig.buf(0), x)
				s.run()
				var ids, weights []float32
				for from := 0; from < len(x); from += c.experts {
					a, b := routed(o, x[from:from+c.experts], bias, c.chosen)
					ids, weights = append(ids, a...), append(weights, b...)
				}
				s.same("ids", s.values(1), ids)
				s.same("weights", s.values(2), weights)
			})
		}
	}
}
