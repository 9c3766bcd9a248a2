package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// TestPool holds pooled rows to the CPU's bits: of whole sequences, and of one that
// comes in parts, whose sum is kept.
func TestPool(t *testing.T) {
	const width = 300
	for _, kind := range []prog.PoolKind{prog.PoolMean, prog.PoolCLS, prog.PoolLast} {
		for _, kept := range []bool{false, true} {
			if kept && kind != prog.PoolMean {
				continue
			}
			t.Run(fmt.Sprintf("%v-%v", kind, kept), func(t *testing.T) {
				p := &prog.Program{Vocab: 10, Embd: 8, Context: 64, Atomic: !kept,
					Bufs: []prog.Buffer{{Name: "in", Width: width}, {Name: "out", Width: width, Rows: prog.LogitRows}}}
				o := prog.Pool{In: 0, Out: 1, Pool: kind, KV: -1}
				parts := []stretch{{20, 20}, {1, 1}, {7, 7}}
				if kept {
					o.KV, p.KV = 0, []prog.KVLayer{prog.StateLayer(width)}
				}
				p.Ops = []prog.Op{o}
				l := roomFor(16, backend.KVF16, parts...)
				b := batchOf(rand.New(rand.NewPCG(4, 3)), l, parts...)
				s := newStand(t, 5, p, l, b)
				in := s.fill(0, 1)
				if kept { // the first 18 rows of the first sequence in a step before
					early := *b
					early.SeqStart, early.CtxLen = []int32{0, 18}, []int32{18}
					early.Tokens, early.Pos, early.Slots, early.Logits = b.Tokens[:18], b.Pos[:18], b.Slots[:18], nil
					s.step(&early)
					s.run()
					b = &prog.Batch{Tokens: b.Tokens[18:], Pos: b.Pos[18:], Slots: b.Slots[18:], SeqStart: []int32{0, 2, 3, 10}, CtxLen: b.CtxLen, Tables: b.Tables, Stride: b.Stride, Logits: []int32{0, 1, 2, 6, 9}}
					s.step(b)
					s.write(s.rig.buf(0), in[18*width:])
				}
				s.run()
				var want []float32
				for _, row := range b.Logits {
					seq := 0
					for b.SeqStart[seq+1] <= row {
						seq++
					}
					first := int(b.SeqStart[seq])
					if kept {
						first, row = int([]int32{0, 20, 21}[seq]), row+18
					}
					at := func(r int) []float32 { return in[r*width : (r+1)*width] }
					switch kind {
					case prog.PoolLast:
						want = append(want, at(int(row))...)
					case prog.PoolCLS:
						want = append(want, at(first)...)
					default:
						sum := append([]float32(nil), at(first)...)
						for r := first + 1; r <= int(row); r++ {
							for i, v := range at(r) {
								sum[i] += v
							}
						}
						for i := range sum {
							sum[i] /= float32(int(row) - first + 1)
						}
						want = append(want, sum...)
					}
				}
				s.same("pooled", s.values(1), want)
			})
		}
	}
}
