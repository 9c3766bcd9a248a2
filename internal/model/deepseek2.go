package model

import (
	"fmt"
	"math"
	"math/big"

	"github.com/paddock-go/paddock/internal/prog"
)

// lowerDeepSeek2 lowers DeepSeek 2 and 3: latent attention in its absorbed form,
// the usual feed-forward in the first layers, then experts with a shared one.
func lowerDeepSeek2(f file, arch string) (*Model, error) {
	a := &latentSpec{}
	return decoder{
		order: prog.Interleaved, experts: true, feed: (*stream).feedExperts,
		attend: func(w *stream, _ int, in prog.BufID) { w.latent(a, in) },
		read: func(k *keys, t *traits) {
			a.read(k, t)
			hidden := k.count("expert_feed_forward_length", 1, maxWidth)
			t.moe = readExperts(k, expertSpec{choiceBias: maybe}, hidden, hidden*k.countOr("expert_shared_count", 0, 0, 64))
		},
	}.lower(f, arch)
}

// latentSpec is the shape of latent attention: a token keeps one latent, which is
// key and value of all heads, and beside it a part of the key that rotates.
//
//	h ─ (q_a ─ norm) ─ q_b ─ per head │ plain │ turn │ ─ k_b ─ │ latent │ turn │ ─┐
//	h ─ kv_a ────────────── once      │ latent │ turn │ ─ norm of the latent ──── attend ─ v_b ─
type latentSpec struct {
	queryRank int // width of the queries' own latent; 0: they have none
	rank      int // width of the latent
	turn      int // what rotates
	plain     int // the rest of a query's head
	value     int // width of a head's value
}

// read takes the sizes and the factor on scores.
func (a *latentSpec) read(k *keys, t *traits) {
	if _, _, plain := k.file.shape("blk.0.attn_q.weight"); !plain { // small models state a rank that they don't use
		a.queryRank = k.countOr("attention.q_lora_rank", 0, 0, maxWidth)
	}
	a.rank = k.count("attention.kv_lora_rank", 1, maxHeadDim)
	head := k.count("attention.key_length_mla", 1, maxHeadDim)
	a.value = k.count("attention.value_length_mla", 1, maxHeadDim)
	a.turn = t.rope.dim
	a.plain = head - a.turn
	if k.err != nil {
		return
	}
	if a.plain < 1 {
		k.fail(k.name("attention.key_length_mla"), head, fmt.Sprintf("above rope.dimension_count, which is %d", a.turn), nil)
		return
	}
	if a.rank+a.turn > maxHeadDim {
		k.fail(k.name("attention.kv_lora_rank"), a.rank, fmt.Sprintf("at most %d", maxHeadDim-a.turn), nil)
		return
	}
	t.scale = a.scale(t.rope)
	if t.temp.Scale = k.numberOr("attention.temperature_scale", 0); t.temp.Scale != 0 {
		t.temp.Every = k.count("attention.temperature_length", 1, math.MaxInt32)
	}
}

// scale is 1 ÷ √(width of a head), times the square of 1 + 0.1 × multiplier ×
// ln(stretch) and of the factor on the rotated values, that is 1 + 0.1 × ln(stretch)
// and the file's own. What the file calls the multiplier is a tenth of it; where
// there is one, YaRN's rotated values and the scores' other half keep their magnitude.
func (a *latentSpec) scale(r *ropeSpec) float32 {
	root := bigNew().Sqrt(bigInt(a.plain + a.turn))
	m, ln := bigOf(float64(r.attnFactor)), new(big.Float).SetPrec(bigPrec)
	if r.factor > 1 {
		ln = bigLn(bigOf(float64(r.factor)))
	}
	ln.Quo(ln, bigInt(10))
	r.logMul *= 10
	m.Mul(m, bigNew().Add(bigInt(1), bigNew().Mul(ln, bigOf(float64(r.logMul)))))
	if r.scaling != ropeYaRN || r.logMul == 0 {
		m.Mul(m, bigNew().Add(bigInt(1), ln))
	} else {
		r.logMul = 1
	}
	v, _ := m.Quo(m.Mul(m, m), root).Float32()
	return v
}

// latent writes a layer's attention.
func (w *stream) latent(a *latentSpec, in prog.BufID) {
	b, s, l := w.b, w.Spec, len(w.b.prog.KV)
	b.prog.KV = append(b.prog.KV, prog.KVLayer{Heads: 1, KeyDim: a.rank + a.turn, ValueDim: a.rank, Prefix: true})
	qWidth := s.Heads * (a.plain + a.turn)
	q0, k := w.buf("q0", qWidth), w.buf("k", a.rank+a.turn)
	kv := w.part(k, w.name(l, "attn_kv_a_mqa"), a.rank+a.turn, s.Embd, absent)
	if a.queryRank > 0 {
		qa := w.buf("qa", a.queryRank)
		b.op(prog.Linear{In: in, Parts: []prog.LinearPart{w.part(qa, w.name(l, "attn_q_a"), a.queryRank, s.Embd, absent), kv}})
		b.op(w.normOp(w.name(l, "attn_q_a_norm"), qa, qa, a.queryRank))
		b.op(prog.Linear{In: qa, Parts: []prog.LinearPart{w.part(q0, w.name(l, "attn_q_b"), qWidth, a.queryRank, absent)}})
	} else {
		b.op(prog.Linear{In: in, Parts: []prog.LinearPart{w.part(q0, w.name(l, "attn_q"), qWidth, s.Embd, absent), kv}})
	}
	q := w.buf("q", s.Heads*(a.rank+a.turn))
	b.op(prog.HeadLinear{In: q0, Out: q, W: b.stack(w.name(l, "attn_k_b.weight"), prog.Matrix, s.Heads, a.rank, a.plain)})
	rope := w.ropes[0]
	rope.From = a.rank
	b.op(prog.RopeAppend{Q: q, K: k, V: prog.NoBuf, KV: l, Heads: s.Heads, KVHeads: 1, HeadDim: a.rank + a.turn,
		QNorm: prog.NoWeight, KNorm: b.vector(w.name(l, "attn_kv_a_norm.weight"), a.rank), NormEps: s.Eps, Rope: rope, Temp: w.temp})
	seen := w.buf("seen", s.Heads*a.rank)
	b.op(prog.Attend{Q: q, Out: seen, KV: l, Heads: s.Heads, KVHeads: 1, HeadDim: a.rank + a.turn, Scale: w.scale, Sinks: prog.NoWeight})
	w.att = w.buf("att", s.Heads*a.value)
	b.op(prog.HeadLinear{In: seen, Out: w.att, W: b.stack(w.name(l, "attn_v_b.weight"), prog.Matrix, s.Heads, a.value, a.rank)})
}
