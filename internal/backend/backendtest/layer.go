package backendtest

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// layer adds attention and a feed-forward to the stream x.
func (m *Random) layer(x prog.BufID) {
	h, s := m.buf("h", m.Prog.Embd, prog.TokenRows), m.buf("s", m.Prog.Embd, prog.TokenRows)
	m.norm(x, h, prog.NoBuf)
	m.attention(h, s)
	switch {
	case m.chance(40):
		m.norm(x, h, s)
	case m.chance(30): // the stream itself is normalised
		m.norm(x, x, s)
		h = x
	default:
		m.addTo(x, s)
		m.norm(x, h, prog.NoBuf)
	}
	m.feed(h, s)
	if m.chance(30) {
		m.norm(s, s, prog.NoBuf)
	}
	m.addTo(x, s)
}

func (m *Random) addTo(dst, src prog.BufID) {
	m.op(prog.AddTo{Dst: dst, Src: src, Scale: pick(m, float32(1), 1, 0.22)})
}

// attention is from h to s.
func (m *Random) attention(h, s prog.BufID) {
	p := m.Prog
	kvHeads, group := 1+m.rng.IntN(3), 1+m.rng.IntN(4)
	heads, dim := kvHeads*group, pick(m, 8, 16, 32, 64, 20, 6)
	kv := prog.KVLayer{Heads: kvHeads, KeyDim: dim, ValueDim: dim}
	inKey := m.chance(15)
	if inKey {
		kv.ValueDim, kv.Prefix = 1+m.rng.IntN(dim), true
	} else if m.chance(15) {
		kv.ValueDim = pick(m, 8, 16, 24, 70)
	}
	a := prog.Attend{KV: len(p.KV), Heads: heads, KVHeads: kvHeads, HeadDim: dim, Scale: float32(1 / math.Sqrt(float64(dim))),
		Window: pick(m, 0, 0, 5, 40), Both: p.Atomic, Sinks: prog.NoWeight}
	if a.Window > 0 && m.chance(50) {
		kv.Window = a.Window
	}
	if m.chance(25) {
		a.Cap = pick(m, float32(2), 50)
	}
	if m.chance(25) {
		a.Sinks = m.vector(heads, 1)
	}
	a.Q, a.Out = m.buf("q", heads*dim, prog.TokenRows), m.buf("a", heads*kv.ValueDim, prog.TokenRows)
	k, v := m.buf("k", kvHeads*dim, prog.TokenRows), prog.NoBuf
	parts := []prog.LinearPart{m.part(h, a.Q), m.part(h, k)}
	if !inKey {
		v = m.buf("v", kvHeads*kv.ValueDim, prog.TokenRows)
		parts = append(parts, m.part(h, v))
	}
	m.op(prog.Linear{In: h, Parts: parts})
	if m.chance(20) { // over all heads
		m.norm(a.Q, a.Q, prog.NoBuf)
		m.norm(k, k, prog.NoBuf)
	}
	ra := prog.RopeAppend{Q: a.Q, K: k, V: v, KV: a.KV, Heads: heads, KVHeads: kvHeads, HeadDim: dim,
		QNorm: prog.NoWeight, KNorm: prog.NoWeight, NormEps: 1e-6, Rope: m.rope(dim)}
	if m.chance(30) {
		ra.QNorm, ra.KNorm = m.vector(dim, 1), m.vector(dim, 1)
	}
	if m.chance(20) {
		ra.Temp = prog.Temperature{Scale: 0.1, Every: pick(m, 1, 16, 64)}
	}
	m.op(ra)
	m.op(a)
	p.KV = append(p.KV, kv)
	m.op(prog.Linear{In: a.Out, Parts: []prog.LinearPart{m.part(a.Out, s)}})
}

// feed is a feed-forward from h to s, with a gate or without.
func (m *Random) feed(h, s prog.BufID) {
	ffn, act := m.fit(pick(m, 64, 96, 256, 512, 40)), pick(m, prog.SiLU, prog.GELU)
	gate, up := m.buf("gate", ffn, prog.TokenRows), m.buf("up", ffn, prog.TokenRows)
	out := pick(m, gate, up)
	if m.chance(30) {
		m.op(prog.Linear{In: h, Parts: []prog.LinearPart{m.part(h, gate)}})
		m.op(prog.Activate{In: gate, Out: out, Act: act})
	} else {
		m.op(prog.Linear{In: h, Parts: []prog.LinearPart{m.part(h, gate), m.part(h, up)}})
		m.op(prog.GateMul{Gate: gate, Up: up, Out: out, Act: act})
	}
	m.op(prog.Linear{In: out, Parts: []prog.LinearPart{m.part(out, s)}})
}

func (m *Random) rope(headDim int) prog.Rope {
	if m.chance(15) {
		return prog.Rope{}
	}
	dim := headDim
	if m.chance(30) {
		dim = 2 * (1 + m.rng.IntN(headDim/2))
	}
	r := prog.Rope{Dim: dim, From: m.rng.IntN(headDim - dim + 1), Order: pick(m, prog.Interleaved, prog.Halves), Mag: pick(m, float32(1), 1.1386294)}
	for i := range dim / 2 {
		r.Freqs = append(r.Freqs, float32(math.Pow(10000, -2*float64(i)/float64(dim))))
	}
	return r
}
