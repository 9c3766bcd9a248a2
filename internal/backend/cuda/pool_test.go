package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
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

// TestShortConv holds a convolution to the CPU's bits, over a sequence that comes in
// two steps and one that begins in the second.
func TestShortConv(t *testing.T) {
	const width, taps = 270, 3
	p := &prog.Program{Vocab: 10, Embd: 8, Context: 64, KV: []prog.KVLayer{prog.StateLayer(width)},
		Weights: []prog.Weight{{Tensor: "taps", Kind: prog.Matrix, Rows: width, Cols: taps}},
		Ops:     []prog.Op{prog.ShortConv{B: 0, C: 1, X: 2, Out: 3, W: 0, Taps: taps}}}
	for range 4 {
		p.Bufs = append(p.Bufs, prog.Buffer{Name: "buffer", Width: width})
	}
	for _, format := range []quant.Type{quant.F32, quant.F16, quant.BF16} {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			f, _ := quant.Lookup(format)
			rng := rand.New(rand.NewPCG(8, 8))
			weights, file := make([]float32, width*taps), make([]byte, width*taps*f.BlockBytes/f.BlockElems)
			for i := range weights {
				weights[i] = float32(rng.NormFloat64())
			}
			f.Encode(file, weights)
			f.Decode(weights, file)
			m, err := newMatrix(p.Weights[0], format)
			if err != nil {
				t.Fatal(err)
			}
			l := roomFor(16, backend.KVF16, stretch{20, 20}, stretch{4, 4})
			b := batchOf(rng, l, stretch{20, 18}, stretch{4, 4})
			b.CtxLen[0] = 20
			s := newStandOf(t, 5, p, l, b, func(s *stand) []deviceWeight {
				planes := [][]byte{make([]byte, m.strides[0])}
				packings[format].pack(planes, file, width, taps)
				m.planes[0] = s.alloc(m.strides[0])
				s.must(s.machine.Write(uint64(m.planes[0]), planes[0]))
				return []deviceWeight{{matrix: m}}
			})
			// The first 2 rows in a step before.
			early := &prog.Batch{Tokens: b.Tokens[:2], Pos: []int32{0, 1}, SeqStart: []int32{0, 2}, CtxLen: []int32{2}, Tables: b.Tables, Stride: b.Stride}
			for _, pos := range early.Pos {
				early.Slots = append(early.Slots, b.Tables[0]*16+pos)
			}
			s.step(early)
			b1, _, x1 := s.fill(0, 1), s.fill(1, 1), s.fill(2, 1)
			s.run()
			s.step(b)
			b2, c2, x2 := s.fill(0, 1), s.fill(1, 1), s.fill(2, 1)
			s.run()
			var want []float32
			for row := range b.Tokens {
				before, first := append(append([]float32(nil), b1...), b2[:18*width]...), append(append([]float32(nil), x1...), x2[:18*width]...)
				if row >= 18 {
					before, first = b2[18*width:], x2[18*width:]
				}
				for i := range width {
					var sum float32
					pos := int(b.Pos[row])
					for t := max(0, taps-1-pos); t < taps; t++ {
						at := (pos-taps+1+t)*width + i
						product := float32(weights[i*taps+t] * float32(before[at]*first[at]))
						if t == max(0, taps-1-pos) {
							sum = product
						} else {
							sum += product
						}
					}
					want = append(want, float32(c2[row*width+i]*sum))
				}
			}
			s.same("out", s.values(3), want)
		})
	}
}
