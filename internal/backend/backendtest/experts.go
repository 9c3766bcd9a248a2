package backendtest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// NewRandomExperts is NewRandom with layers of experts behind its feed-forwards,
// and latent attention beside the usual.
func NewRandomExperts(seed uint64, formats ...quant.Type) *Random {
	m := newRandom(seed, formats)
	p := m.Prog
	p.Arch += "experts"
	p.Vocab = 17 + m.rng.IntN(100)
	p.Embd = m.fit(pick(m, 32, 64, 96, 72, 33))
	x := m.buf("x", p.Embd, prog.TokenRows)
	m.embed(x, m.matrix(p.Vocab, p.Embd))
	for range 1 + m.rng.IntN(2) {
		if m.chance(60) {
			m.latent(x)
		} else {
			m.layer(x)
		}
		m.experts(x, prog.TokenRows)
	}
	l, h := m.buf("last", p.Embd, prog.LogitRows), m.buf("normed", p.Embd, prog.LogitRows)
	m.op(prog.TakeRows{In: x, Out: l})
	m.experts(l, prog.LogitRows)
	m.norm(l, h, prog.NoBuf)
	m.op(prog.Head{In: h, W: m.matrix(p.Vocab, p.Embd), Bias: prog.NoWeight, Scale: 1})
	if err := p.Check(); err != nil {
		panic(err)
	}
	return m
}

// stack makes n matrices in one tensor, now and then in the middle of it.
func (m *Random) stack(n, rows, cols int) prog.WeightID {
	id := m.matrix(n*rows, cols)
	w := &m.Prog.Weights[id]
	w.Rows, w.Stack = rows, n
	return id
}

// stackBias makes n vectors in one tensor, or none.
func (m *Random) stackBias(n, cols int) prog.WeightID {
	if m.chance(60) {
		return prog.NoWeight
	}
	f, _ := quant.Lookup(quant.F32)
	return m.weight(prog.Weight{Kind: prog.Vector, Rows: 1, Cols: cols, Stack: n}, f, n, 0.2, 0)
}

// experts adds a choice of feed-forwards to the stream x, sometimes with one that
// all rows share behind a gate of its own.
func (m *Random) experts(x prog.BufID, rows prog.RowKind) {
	p := m.Prog
	groups := pick(m, 1, 1, 1, 2, 4)
	n := groups * (1 + m.rng.IntN(5))
	open := 1 + m.rng.IntN(groups)
	used := 1 + m.rng.IntN(min(n/groups*open, 4))
	h, s := m.buf("h", p.Embd, rows), m.buf("s", p.Embd, rows)
	logits, ids, weights := m.buf("logits", n, rows), m.buf("ids", used, rows), m.buf("weights", used, rows)
	m.norm(x, h, prog.NoBuf)
	router, choice := m.router(h, logits)
	parts := []prog.LinearPart{router}
	shared, gate := m.buf("shared", p.Embd, rows), m.buf("sharedgate", 1, rows)
	both := m.chance(50)
	if both {
		parts = append(parts, m.part(h, shared), m.part(h, gate))
	}
	m.op(prog.Linear{In: h, Parts: parts})
	route := prog.Route{In: logits, Ids: ids, Weights: weights, Bias: choice, Groups: groups, GroupsUsed: open,
		Score: pick(m, prog.ScoreSoftmax, prog.ScoreSigmoid, prog.ScoreChosen), Norm: m.chance(50), Scale: pick(m, float32(1), 2.5)}
	m.op(route)
	hidden := m.fit(pick(m, 32, 48, 64, 40))
	e := prog.Experts{In: h, Out: s, Ids: ids, Weights: weights,
		Gate: m.stack(n, hidden, p.Embd), Up: m.stack(n, hidden, p.Embd), Down: m.stack(n, p.Embd, hidden),
		GateBias: m.stackBias(n, hidden), UpBias: m.stackBias(n, hidden), DownBias: m.stackBias(n, p.Embd),
		Act: pick(m, prog.ExpertSiLU, prog.ExpertGELU, prog.ExpertClamped)}
	if e.Act == prog.ExpertClamped {
		e.Alpha, e.Limit = 1.702, pick(m, float32(7), 0.5)
	}
	m.op(e)
	if both {
		m.op(prog.RowScale{Dst: shared, Gate: gate})
		m.op(prog.AddTo{Dst: s, Src: shared, Scale: 1})
	}
	m.op(prog.AddTo{Dst: x, Src: s, Scale: 1})
}

// router is a product whose logits are now and then equal for all experts, or no
// number for one, and the bias of the choice by them.
func (m *Random) router(in, out prog.BufID) (part prog.LinearPart, choice prog.WeightID) {
	n := m.Prog.Bufs[out].Width
	part, choice = m.part(in, out), m.bias(n)
	switch {
	case m.chance(25):
		part.Bias, choice = prog.NoWeight, prog.NoWeight
		clear(m.tensors[m.Prog.Weights[part.W].Tensor].Data)
	case m.chance(20):
		f, _ := quant.Lookup(quant.F32)
		part.Bias = m.weight(prog.Weight{Kind: prog.Vector, Rows: 1, Cols: n}, f, 1, 0.2, 0)
		data := m.tensors[m.Prog.Weights[part.Bias].Tensor].Data
		binary.LittleEndian.PutUint32(data[4*m.rng.IntN(n):], math.Float32bits(float32(math.NaN())))
	}
	return part, choice
}

// latent adds attention whose keys are latents, each the value too, with a tail
// that rotates.
func (m *Random) latent(x prog.BufID) {
	p := m.Prog
	heads, plain, turn := 1+m.rng.IntN(5), m.fit(pick(m, 8, 16, 24)), 2*(1+m.rng.IntN(6))
	rank, value := m.fit(pick(m, 16, 32, 20)), pick(m, 8, 16, 17)
	dim := rank + turn
	h, s := m.buf("h", p.Embd, prog.TokenRows), m.buf("s", p.Embd, prog.TokenRows)
	q0, q := m.buf("q0", heads*(plain+turn), prog.TokenRows), m.buf("q", heads*dim, prog.TokenRows)
	k, a := m.buf("k", dim, prog.TokenRows), m.buf("a", heads*rank, prog.TokenRows)
	v := m.buf("v", heads*value, prog.TokenRows)
	m.norm(x, h, prog.NoBuf)
	m.op(prog.Linear{In: h, Parts: []prog.LinearPart{m.part(h, q0), m.part(h, k)}})
	m.op(prog.HeadLinear{In: q0, Out: q, W: m.stack(heads, rank, plain)})
	rope := m.rope(turn)
	rope.From = rank
	m.op(prog.RopeAppend{Q: q, K: k, V: prog.NoBuf, KV: len(p.KV), Heads: heads, KVHeads: 1, HeadDim: dim,
		QNorm: prog.NoWeight, KNorm: pick(m, prog.NoWeight, m.vector(rank, 1)), NormEps: 1e-6, Rope: rope})
	m.op(prog.Attend{Q: q, Out: a, KV: len(p.KV), Heads: heads, KVHeads: 1, HeadDim: dim,
		Scale: float32(1 / math.Sqrt(float64(plain+turn))), Sinks: prog.NoWeight})
	p.KV = append(p.KV, prog.KVLayer{Heads: 1, KeyDim: dim, ValueDim: rank, Prefix: true})
	m.op(prog.HeadLinear{In: a, Out: v, W: m.stack(heads, value, rank)})
	m.op(prog.Linear{In: v, Parts: []prog.LinearPart{m.part(v, s)}})
	m.op(prog.AddTo{Dst: x, Src: s, Scale: 1})
}

// RunExperts demands that devices give the same bits as another on random models
// with experts and latent attention: a format of each kind of activations alone
// (what stacks add to a format is the same for all), then mixes.
func RunExperts(t *testing.T, want backend.Device, poison func(backend.Runner), got ...backend.Device) {
	for _, typ := range []quant.Type{quant.F16, quant.BF16, quant.Q8_0, quant.Q5_1, quant.Q4K, quant.MXFP4} {
		t.Run(typ.String(), func(t *testing.T) { conform(t, NewRandomExperts(0, typ), want, poison, got) })
	}
	t.Run("mixed", func(t *testing.T) {
		for seed := range uint64(8) {
			conform(t, NewRandomExperts(100+seed), want, poison, got)
		}
	})
}

// RunLawExperts is RunLaw for a random model with experts and latent attention.
func RunLawExperts(t *testing.T, d backend.Device, seed uint64, poison func(backend.Runner), formats ...quant.Type) {
	m := NewRandomExperts(200+seed, formats...)
	prompts := [][]int32{m.Tokens(70), m.Tokens(33), m.Tokens(97), m.Tokens(1)}
	if seed == 0 && !testing.Short() {
		prompts[0] = m.Tokens(530) // over the bound of a span of keys, 512
	}
	law(t, m, d, prompts, poison)
}
