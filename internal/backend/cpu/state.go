package cpu

import (
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// slotOf is where a position of a sequence of this step lies.
func (r *runner) slotOf(seq, pos int) int {
	group := r.groupsOfSeq(seq)[pos/kern.GroupTokens]
	return int(group)*kern.GroupTokens + pos%kern.GroupTokens
}

// seqOf is the sequence that a row belongs to.
func (r *runner) seqOf(row int) int {
	starts := r.batch.SeqStart
	low, high := 0, len(starts)-1
	for high-low > 1 {
		if mid := (low + high) / 2; int(starts[mid]) <= row {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// before is a phase that has to be over for all rows before an op's own begins;
// nil: none.
func (r *runner) before(op prog.Op) *phase {
	var p phase
	switch o := op.(type) {
	case prog.ShortConv:
		b, x, layer := &r.bufs[o.B], &r.bufs[o.X], &r.cache.layers[o.KV]
		p = r.rowPhase(prog.TokenRows, addCost*b.width, func(_ *worker, row int) {
			r.kern.Mul(layer.stateOf(int(r.batch.Slots[row])), x.row(row), b.row(row))
		})
	case prog.Pool:
		if o.KV < 0 {
			return nil
		}
		in, layer := &r.bufs[o.In], &r.cache.layers[o.KV]
		p = phase{
			items: func() int { return r.batch.Seqs() },
			run: func(_ *worker, s int) {
				for row := r.batch.SeqStart[s]; row < r.batch.SeqStart[s+1]; row++ {
					sum, pos := layer.stateOf(int(r.batch.Slots[row])), int(r.batch.Pos[row])
					if pos == 0 {
						copy(sum, in.row(int(row)))
						continue
					}
					copy(sum, layer.stateOf(r.slotOf(s, pos-1)))
					r.kern.Add(sum, in.row(int(row)))
				}
			},
		}
	default:
		return nil
	}
	return &p
}

// shortConv sums, for each row, the weighted states up to it.
func (r *runner) shortConv(o prog.ShortConv, round []int) phase {
	c, out, layer := &r.bufs[o.C], &r.bufs[o.Out], &r.cache.layers[o.KV]
	taps := r.taps(o)
	return r.rowPhase(prog.TokenRows, 2*addCost*o.Taps*out.width, func(w *worker, row int) {
		seq, acc, product := r.seqOf(row), w.row[:out.width], w.row[out.width:2*out.width]
		first := int(r.batch.Pos[row]) - o.Taps + 1 // the position of tap 0
		sum := acc                                  // the first product begins it; Out may be C
		for t := max(0, -first); t < o.Taps; t++ {
			r.kern.Mul(sum, layer.stateOf(r.slotOf(seq, first+t)), taps[t])
			if t > max(0, -first) {
				r.kern.Add(acc, product)
			}
			sum = product
		}
		r.kern.Mul(out.row(row), acc, c.row(row))
		r.round(round, row)
	})
}

// taps is a convolution's weights by tap, so that each is a row over channels.
func (r *runner) taps(o prog.ShortConv) [][]float32 {
	m := r.weights[o.W].matrix
	row := make([]float32, m.Format.Blocks(m.Cols)*m.Format.BlockElems)
	taps := make([][]float32, o.Taps)
	for t := range taps {
		taps[t] = make([]float32, m.Rows)
	}
	for i := range m.Rows {
		m.Row(row, i)
		for t := range taps {
			taps[t][i] = row[t]
		}
	}
	return taps
}

// poolRows makes one row of each sequence that ends in the step. A sequence is
// one worker's, so that its sum has one order.
func (r *runner) poolRows(o prog.Pool, round []int) phase {
	in, out := &r.bufs[o.In], &r.bufs[o.Out]
	return r.rowPhase(prog.LogitRows, itemCost, func(_ *worker, i int) {
		row, y := int(r.batch.Logits[i]), out.row(i)
		seq, n := r.seqOf(row), r.batch.Pos[row]+1
		first := int(r.batch.SeqStart[seq])
		switch {
		case o.Pool == prog.PoolLast:
			copy(y, in.row(row))
		case o.Pool == prog.PoolCLS:
			copy(y, in.row(first))
		case o.KV >= 0:
			copy(y, r.cache.layers[o.KV].stateOf(int(r.batch.Slots[row])))
			divide(y, n)
		default:
			copy(y, in.row(first))
			for at := first + 1; at <= row; at++ {
				r.kern.Add(y, in.row(at))
			}
			divide(y, n)
		}
		r.round(round, i)
	})
}

func divide(x []float32, n int32) {
	for i := range x {
		x[i] /= float32(n)
	}
}

// tanhMul is tanh(gate) × up: only classifiers have it, a few rows a step.
func tanhMul(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = num.Tanh32(g) * up[i]
	}
}
