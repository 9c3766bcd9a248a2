package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// attendCase is attention of a shape over a cache of a type.
type attendCase struct {
	kv                  backend.KVType
	heads, kvHeads      int
	keyDim, valueDim    int
	prefix, both, sinks bool
	window              int
	cap                 float32
	pageSize            int
	parts               []stretch
}

func (c attendCase) String() string {
	return fmt.Sprintf("%v-%d.%dx%d.%d-w%d-%v-p%d", c.kv, c.heads, c.kvHeads, c.keyDim, c.valueDim, c.window, c.parts, c.pageSize)
}

const (
	attendQ prog.BufID = iota
	attendOut
)

func (c attendCase) program() (*prog.Program, prog.Attend) {
	o := prog.Attend{Q: attendQ, Out: attendOut, Heads: c.heads, KVHeads: c.kvHeads, HeadDim: c.keyDim,
		Scale: 1 / float32(math.Sqrt(float64(c.keyDim))), Cap: c.cap, Window: c.window, Both: c.both, Sinks: prog.NoWeight}
	p := &prog.Program{Vocab: 10, Embd: 8, Context: 1 << 20,
		Bufs: []prog.Buffer{{Name: "q", Width: c.heads * c.keyDim}, {Name: "out", Width: c.heads * c.valueDim}},
		KV:   []prog.KVLayer{{Heads: c.kvHeads, KeyDim: c.keyDim, ValueDim: c.valueDim, Prefix: c.prefix}}}
	if c.sinks {
		o.Sinks = 0
		p.Weights = []prog.Weight{{Tensor: "sinks", Kind: prog.Vector, Rows: 1, Cols: c.heads}}
	}
	p.Ops = []prog.Op{o}
	return p, o
}

// attendRun runs a case and returns the output with what it should be.
func attendRun(t *testing.T, seed uint64, c attendCase) (*stand, []float32, []float64) {
	t.Helper()
	p, o := c.program()
	l := roomFor(c.pageSize, c.kv, c.parts...)
	b := batchOf(rand.New(rand.NewPCG(seed, 3)), l, c.parts...)
	var vectors [][]float32
	if c.sinks {
		v := make([]float32, c.heads)
		for i := range v {
			v[i] = float32(i) - 1
		}
		vectors = append(vectors, v)
	}
	s := newStand(t, seed, p, l, b, vectors...)
	q := s.fill(attendQ, 1.5)
	keys, values := s.layer(c)
	s.run()
	var want []float64
	for seq := range b.Seqs() {
		for row := b.SeqStart[seq]; row < b.SeqStart[seq+1]; row++ {
			for h := range c.heads {
				at := (int(row)*c.heads + h) * c.keyDim
				sink := math.Inf(-1)
				if c.sinks {
					sink = float64(vectors[0][h])
				}
				kvHead := h / (c.heads / c.kvHeads)
				want = append(want, attended(o, q[at:at+c.keyDim], keys[seq][kvHead], values[seq][kvHead], c.valueDim, int(b.Pos[row]), sink)...)
			}
		}
	}
	return s, s.values(attendOut), want
}

// alone makes a step of one sequence of the batch, whose queries move to the front.
func (s *stand) alone(c attendCase, seq int) {
	b, rows := s.batch, int(s.batch.SeqStart[seq])
	s.write(s.rig.buf(attendQ), s.values(attendQ)[rows*c.heads*c.keyDim:])
	n := len(b.Tokens) - rows
	one := &prog.Batch{Tokens: b.Tokens[rows:], Pos: b.Pos[rows:], Slots: b.Slots[rows:], SeqStart: []int32{0, int32(n)},
		CtxLen: b.CtxLen[seq:], Tables: b.Tables[seq*b.Stride:], Stride: b.Stride, Logits: []int32{int32(n) - 1}}
	s.step(one)
}

// layer fills the cache of layer 0, NaN where no token lies, and returns keys and
// values by sequence, head and position.
func (s *stand) layer(c attendCase) (keys, values [][][][]float32) {
	layer := s.rig.layers[0]
	for _, p := range []kvPart{layer.keys, layer.values} {
		if p.bytes > 0 {
			s.must(s.machine.Fill(uint64(p.at), 0xff, p.stride*int64(s.rig.limits.Pages)))
		}
	}
	fill := func(p kvPart, seq, head, pos, dim int) []float32 {
		v := s.normal(dim, 1)
		for i := range v {
			v[i] = stored(c.kv, v[i])
			s.put(s.cell(p, c.kv, seq, pos, head, dim, i), c.kv, v[i])
		}
		return v
	}
	for seq := range s.batch.Seqs() {
		keys, values = append(keys, nil), append(values, nil)
		for h := range c.kvHeads {
			keys[seq], values[seq] = append(keys[seq], nil), append(values[seq], nil)
			for pos := range int(s.batch.CtxLen[seq]) {
				k := fill(layer.keys, seq, h, pos, c.keyDim)
				v := k
				if !c.prefix {
					v = fill(layer.values, seq, h, pos, c.valueDim)
				}
				keys[seq][h], values[seq][h] = append(keys[seq][h], k), append(values[seq][h], v)
			}
		}
	}
	return keys, values
}

// attended is attention in float64.
func attended(o prog.Attend, q []float32, keys, values [][]float32, dim, pos int, sink float64) []float64 {
	first, last := 0, pos
	switch {
	case o.Both && o.Window > 0:
		first, last = max(0, pos-o.Window/2), min(len(keys)-1, pos+o.Window/2)
	case o.Both:
		last = len(keys) - 1
	case o.Window > 0:
		first = max(0, pos-o.Window+1)
	}
	out, scores, top := make([]float64, dim), make([]float64, len(keys)), sink
	for i := first; i <= last; i++ {
		for j, x := range q {
			scores[i] += float64(x) * float64(keys[i][j])
		}
		scores[i] *= float64(o.Scale)
		if o.Cap != 0 {
			scores[i] = float64(o.Cap) * math.Tanh(scores[i]/float64(o.Cap))
		}
		top = max(top, scores[i])
	}
	sum := math.Exp(sink - top)
	for i := first; i <= last; i++ {
		w := math.Exp(scores[i] - top)
		sum += w
		for j := range out {
			out[j] += w * float64(values[i][j])
		}
	}
	for j := range out {
		out[j] /= sum
	}
	return out
}

// attendGate is the largest difference from float64, relative to a head's largest
// value: of float32 sums, and of weights in two terms of BF16.
func attendGate(t backend.KVType) float64 {
	if t == backend.KVBF16 {
		return 6e-5
	}
	return 6e-6
}

// TestAttend holds attention over all shapes: contexts around the bounds of groups,
// spans and tiles, sequences of many and of few rows in a step.
func TestAttend(t *testing.T) {
	ends := []stretch{{1, 1}, {15, 1}, {16, 1}, {17, 1}, {130, 1}}
	mixed := []stretch{{40, 33}, {1, 1}, {70, 9}, {17, 3}}
	cases := []attendCase{
		{kv: backend.KVF32, heads: 4, kvHeads: 4, keyDim: 8, valueDim: 8, pageSize: 16, parts: mixed},
		{kv: backend.KVF32, heads: 4, kvHeads: 2, keyDim: 16, valueDim: 16, pageSize: 16, parts: ends, window: 16},
		{kv: backend.KVF16, heads: 4, kvHeads: 1, keyDim: 64, valueDim: 64, pageSize: 32, parts: mixed},
		{kv: backend.KVF16, heads: 3, kvHeads: 1, keyDim: 128, valueDim: 128, pageSize: 16, parts: []stretch{{129, 1}, {80, 70}}, sinks: true},
		{kv: backend.KVBF16, heads: 2, kvHeads: 2, keyDim: 24, valueDim: 40, pageSize: 48, parts: mixed, cap: 8, window: 16},
		{kv: backend.KVF16, heads: 2, kvHeads: 1, keyDim: 40, valueDim: 32, prefix: true, pageSize: 16, parts: mixed},
		{kv: backend.KVF32, heads: 2, kvHeads: 2, keyDim: 32, valueDim: 32, both: true, window: 32, pageSize: 16, parts: []stretch{{50, 50}, {1, 1}, {3, 3}}},
		{kv: backend.KVF16, heads: 2, kvHeads: 1, keyDim: 256, valueDim: 256, pageSize: 16, parts: []stretch{{35, 20}, {50, 1}}},
		{kv: backend.KVF16, heads: 7, kvHeads: 1, keyDim: 64, valueDim: 64, pageSize: 16, parts: []stretch{{600, 1}, {513, 1}, {128, 1}}, sinks: true},
	}
	if !testing.Short() {
		cases = append(cases,
			attendCase{kv: backend.KVBF16, heads: 8, kvHeads: 1, keyDim: 96, valueDim: 96, pageSize: 16, parts: []stretch{{511, 1}, {512, 1}, {513, 1}, {257, 5}}},
			attendCase{kv: backend.KVF32, heads: 10, kvHeads: 1, keyDim: 72, valueDim: 72, pageSize: 16, parts: mixed, window: 8, sinks: true},
			attendCase{kv: backend.KVF32, heads: 5, kvHeads: 1, keyDim: 200, valueDim: 160, pageSize: 64, parts: []stretch{{33, 7}, {140, 1}}},
			attendCase{kv: backend.KVF16, heads: 3, kvHeads: 1, keyDim: 320, valueDim: 264, prefix: true, pageSize: 16, parts: []stretch{{33, 7}, {150, 1}}},
			attendCase{kv: backend.KVBF16, heads: 2, kvHeads: 1, keyDim: 256, valueDim: 256, pageSize: 16, parts: []stretch{{64, 33}, {90, 1}}, cap: 20},
			attendCase{kv: backend.KVF16, heads: 4, kvHeads: 2, keyDim: 112, valueDim: 112, both: true, pageSize: 16, parts: []stretch{{70, 70}, {1, 1}}},
			attendCase{kv: backend.KVF16, heads: 1, kvHeads: 1, keyDim: 128, valueDim: 128, pageSize: 16, parts: []stretch{{300, 129}, {200, 1}}, window: 100},
			attendCase{kv: backend.KVF32, heads: 1, kvHeads: 1, keyDim: 8, valueDim: 8, pageSize: 16, parts: []stretch{{8193, 1}, {8192, 1}, {9000, 1}}, window: 0},
		)
	}
	for i, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			s, got, want := attendRun(t, uint64(i), c)
			s.near("out", got, want, c.valueDim, attendGate(c.kv))
			// A larger bucket, and the other sequences, change no bit.
			b := bucketOf(s.batch, s.rig.limits)
			s.runIn(bucket{rows: b.rows + 3, seqs: b.seqs + 2, logits: b.logits, ctx: s.rig.limits.Context})
			s.same("out in a larger bucket", s.values(attendOut), got)
			last := len(c.parts) - 1
			from := int(s.batch.SeqStart[last]) * c.heads * c.valueDim
			s.alone(c, last)
			s.run()
			s.same("out without batch mates", s.values(attendOut), got[from:])
		})
	}
}
