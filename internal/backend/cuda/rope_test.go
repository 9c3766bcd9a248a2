package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
)

// ropeCase is a rotation of heads and what is stored of them.
type ropeCase struct {
	kv               backend.KVType
	heads, kvHeads   int
	keyDim, valueDim int
	prefix           bool // values are the keys' beginning
	dim, from        int
	order            prog.PairOrder
	qNorm            bool
	kNorm            int // values of a key that are normalised; 0: none
	temp             prog.Temperature
	start            int // position of the first row
}

const (
	ropeQ prog.BufID = iota
	ropeK
	ropeV
)

func (c ropeCase) op(freqs []float32) prog.RopeAppend {
	o := prog.RopeAppend{Q: ropeQ, K: ropeK, V: ropeV, Heads: c.heads, KVHeads: c.kvHeads, HeadDim: c.keyDim, NormEps: 1e-6,
		QNorm: prog.NoWeight, KNorm: prog.NoWeight, Temp: c.temp,
		Rope: prog.Rope{Dim: c.dim, From: c.from, Order: c.order, Freqs: freqs, Mag: 1.25}}
	if c.prefix {
		o.V = prog.NoBuf
	}
	if c.qNorm {
		o.QNorm = 0
	}
	if c.kNorm > 0 {
		o.KNorm = 1
	}
	return o
}

// turned is a head, normalised and rotated.
func (c ropeCase) turned(o prog.RopeAppend, head, norm []float32, pos int32) []float64 {
	out := make([]float64, len(head))
	for i, v := range head {
		out[i] = float64(v)
	}
	if norm != nil {
		squares := 0.
		for _, v := range out[:len(norm)] {
			squares += v * v
		}
		for i, w := range norm {
			out[i] *= float64(w) / math.Sqrt(squares/float64(len(norm))+float64(o.NormEps))
		}
	}
	for i, f := range o.Rope.Freqs {
		a, b := o.Rope.From+2*i, o.Rope.From+2*i+1
		if o.Rope.Order == prog.Halves {
			a, b = o.Rope.From+i, o.Rope.From+i+o.Rope.Dim/2
		}
		sin, cos := num.SinCos64(float64(pos) * float64(f))
		sin, cos = float64(float32(sin))*float64(o.Rope.Mag), float64(float32(cos))*float64(o.Rope.Mag)
		out[a], out[b] = out[a]*cos-out[b]*sin, out[a]*sin+out[b]*cos
	}
	return out
}

// TestRopeAppend holds rotated queries, and keys and values in the cache, at positions
// up to a million.
func TestRopeAppend(t *testing.T) {
	const few, long = 5, 1 << 20
	for i, c := range []ropeCase{
		{kv: backend.KVF16, heads: 4, kvHeads: 2, keyDim: 16, valueDim: 16, dim: 16},
		{kv: backend.KVF32, heads: 3, kvHeads: 1, keyDim: 80, valueDim: 64, dim: 32, from: 8, order: prog.Halves, qNorm: true, kNorm: 80, start: long - few},
		{kv: backend.KVBF16, heads: 2, kvHeads: 2, keyDim: 128, valueDim: 128, dim: 128, order: prog.Halves, kNorm: 128, start: 777_777},
		{kv: backend.KVF32, heads: 2, kvHeads: 1, keyDim: 40, valueDim: 32, prefix: true, dim: 8, from: 32, kNorm: 32, start: 100},
		{kv: backend.KVF16, heads: 2, kvHeads: 1, keyDim: 8, valueDim: 8, temp: prog.Temperature{Scale: 0.1, Every: 100}, start: 990},
	} {
		t.Run(fmt.Sprintf("%v-%d-of-%d", c.kv, c.dim, c.keyDim), func(t *testing.T) {
			freqs := make([]float32, c.dim/2)
			for j := range freqs {
				freqs[j] = float32(num.Pow64(10000, -float64(2*j)/float64(c.dim)))
			}
			o := c.op(freqs)
			p := &prog.Program{Vocab: 10, Embd: 8, Context: long, Ops: []prog.Op{o},
				Bufs: []prog.Buffer{{Name: "q", Width: c.heads * c.keyDim}, {Name: "k", Width: c.kvHeads * c.keyDim}, {Name: "v", Width: c.kvHeads * c.valueDim}},
				KV:   []prog.KVLayer{{Heads: c.kvHeads, KeyDim: c.keyDim, ValueDim: c.valueDim, Prefix: c.prefix}}}
			rng := rand.New(rand.NewPCG(uint64(i), 5))
			norms := [][]float32{make([]float32, c.keyDim), make([]float32, max(c.kNorm, 1))}
			for _, n := range norms {
				p.Weights = append(p.Weights, prog.Weight{Tensor: "norm", Kind: prog.Vector, Rows: 1, Cols: len(n)})
				for j := range n {
					n[j] = float32(rng.NormFloat64())
				}
			}
			// Two sequences: the positions asked for, and the first ones. Only the pages
			// that rows write are there.
			l := roomFor(16, c.kv, stretch{few + 20, few}, stretch{3, 3})
			b := batchOf(rng, l, stretch{few + 20, few}, stretch{3, 3})
			s := newStand(t, uint64(i), p, l, b, norms...)
			stored := append([]int32(nil), b.Pos...)
			for r := range few {
				b.Pos[r] = int32(c.start + r)
			}
			s.step(b)
			q, k := s.fill(ropeQ, 1), s.fill(ropeK, 1)
			var v []float32
			if !c.prefix {
				v = s.fill(ropeV, 1)
			}
			s.run()
			qNorm, kNorm := norms[0], norms[1]
			if !c.qNorm {
				qNorm = nil
			}
			if c.kNorm == 0 {
				kNorm = nil
			}
			var want []float64
			for at := 0; at < len(q); at += c.keyDim {
				pos := b.Pos[at/(c.heads*c.keyDim)]
				head := c.turned(o, q[at:at+c.keyDim], qNorm, pos)
				for j := range head {
					if c.temp.Scale != 0 {
						head[j] *= 1 + float64(c.temp.Scale)*math.Log(float64(1+int(pos)/c.temp.Every))
					}
				}
				want = append(want, head...)
			}
			s.near("queries", s.values(ropeQ), want, c.keyDim, 1e-6)
			s.cached(c, o, "keys", s.rig.layers[0].keys, k, c.keyDim, stored, func(head []float32, row int) []float64 {
				return c.turned(o, head, kNorm, b.Pos[row])
			})
			if !c.prefix {
				s.cached(c, o, "values", s.rig.layers[0].values, v, c.valueDim, stored, func(head []float32, row int) []float64 {
					out := make([]float64, len(head))
					for j, x := range head {
						out[j] = float64(x)
					}
					return out
				})
			}
		})
	}
}

// cached compares what the rows' slots hold of heads of a buffer.
func (s *stand) cached(c ropeCase, o prog.RopeAppend, what string, p kvPart, from []float32, dim int, pos []int32, want func(head []float32, row int) []float64) {
	s.Helper()
	gate := map[backend.KVType]float64{backend.KVF32: 1e-6, backend.KVF16: 0x1p-11 + 1e-6, backend.KVBF16: 0x1p-8 + 1e-6}[c.kv]
	var got []float32
	var all []float64
	seq := 0
	for row := range s.batch.Tokens {
		if row >= int(s.batch.SeqStart[seq+1]) {
			seq++
		}
		for h := range o.KVHeads {
			for i := range dim {
				got = append(got, s.get(s.cell(p, c.kv, seq, int(pos[row]), h, dim, i), c.kv))
			}
			at := (row*o.KVHeads + h) * dim
			all = append(all, want(from[at:at+dim], row)...)
		}
	}
	s.near(what, got, all, dim, gate)
}
