package ref

import "github.com/paddock-go/paddock/internal/prog"

// shortConv: the products of all rows go to their slots first, then each row sums
// what it sees, the earliest token first.
func (r *runner) shortConv(op prog.ShortConv) {
	b, w := r.batch, &r.weights[op.W]
	state, width := r.values[op.KV], w.rows
	for row, slot := range b.Slots {
		x, y := r.row(op.B, row), r.row(op.X, row)
		for i := range width {
			state[int(slot)*width+i] = float32(x[i] * y[i])
		}
	}
	taps := make([]float32, op.Taps)
	for s := range b.Seqs() {
		for row := int(b.SeqStart[s]); row < int(b.SeqStart[s+1]); row++ {
			c, out := r.row(op.C, row), r.row(op.Out, row)
			for i := range width {
				w.format.Decode(taps, w.row(i))
				first := int(b.Pos[row]) - op.Taps + 1 // the position of tap 0
				sum := float32(0)
				for t := max(0, -first); t < op.Taps; t++ {
					product := float32(taps[t] * r.at(state, s, first+t, 0, 1)[i])
					if t == max(0, -first) {
						sum = product
					} else {
						sum += product
					}
				}
				out[i] = float32(c[i] * sum)
			}
		}
	}
}

// pool: the mean is the sum in order of positions, from the first row on, divided
// by their number. Where a sequence may come in parts, the sum up to each row is
// in that row's slot.
func (r *runner) pool(op prog.Pool) {
	b := r.batch
	if op.KV >= 0 {
		r.runningSums(op)
	}
	for i, row := range b.Logits {
		s := 0
		for b.SeqStart[s+1] <= row {
			s++
		}
		out := r.row(op.Out, i)
		switch {
		case op.Pool == prog.PoolLast:
			copy(out, r.row(op.In, int(row)))
		case op.Pool == prog.PoolCLS:
			copy(out, r.row(op.In, int(b.SeqStart[s])))
		case op.KV >= 0:
			copy(out, r.at(r.values[op.KV], s, int(b.Pos[row]), 0, 1))
			divide(out, int(b.Pos[row])+1)
		default:
			first := b.SeqStart[s]
			copy(out, r.row(op.In, int(first)))
			for at := first + 1; at <= row; at++ {
				add(out, r.row(op.In, int(at)))
			}
			divide(out, int(b.Pos[row])+1)
		}
	}
}

// runningSums writes the sum of a sequence's rows up to each row of the step.
func (r *runner) runningSums(op prog.Pool) {
	b, sums := r.batch, r.values[op.KV]
	for s := range b.Seqs() {
		for row := int(b.SeqStart[s]); row < int(b.SeqStart[s+1]); row++ {
			pos := int(b.Pos[row])
			sum := r.at(sums, s, pos, 0, 1)
			copy(sum, r.row(op.In, row))
			if pos > 0 {
				before := r.at(sums, s, pos-1, 0, 1)
				for i := range sum {
					sum[i] = before[i] + sum[i]
				}
			}
		}
	}
}

func divide(x []float32, n int) {
	for i := range x {
		x[i] /= float32(n)
	}
}
