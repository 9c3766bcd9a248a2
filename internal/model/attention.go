package model

import "github.com/paddock-go/paddock/internal/prog"

// attention writes layer l from the query, key and value products to w.att.
func (w *stream) attention(l int, in prog.BufID) {
	if w.own(l) {
		w.d.attend(w, l, in)
		return
	}
	b, s := w.b, w.Spec
	windowed := w.window > 0 && w.windowed(l)
	kv := prog.KVLayer{Heads: s.KVHeads, KeyDim: s.HeadDim, ValueDim: s.ValueDim}
	if windowed {
		kv.Window = w.window
	}
	b.prog.KV = append(b.prog.KV, kv)

	q, k, v := w.buf("q", s.Heads*s.HeadDim), w.buf("k", s.KVHeads*s.HeadDim), w.buf("v", s.KVHeads*s.ValueDim)
	b.op(prog.Linear{In: in, Parts: w.qkv(l, q, k, v)})
	ra := prog.RopeAppend{Q: q, K: k, V: v, KV: l, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
		QNorm: prog.NoWeight, KNorm: prog.NoWeight, NormEps: s.Eps, Temp: w.temp}
	w.normQK(l, &ra)
	if w.roped == nil || w.roped(l) {
		ra.Rope = w.ropes[0]
		if windowed {
			ra.Rope = w.ropes[1]
		}
	}
	b.op(ra)
	w.att = w.buf("att", s.Heads*s.ValueDim)
	b.op(prog.Attend{Q: q, Out: w.att, KV: l, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
		Scale: w.scale, Cap: w.scoreCap, Window: kv.Window, Sinks: w.sinks(l)})
}

// qkv are the three products; a fused matrix holds their rows in this order.
func (w *stream) qkv(l int, q, k, v prog.BufID) []prog.LinearPart {
	s := w.Spec
	qRows, kRows, vRows := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim, s.KVHeads*s.ValueDim
	bias := maybe
	if w.d.qkvBiased {
		bias = required
	}
	name := w.name(l, "attn_qkv")
	if !w.b.has(name + ".weight") {
		return []prog.LinearPart{
			w.part(q, w.name(l, "attn_q"), qRows, s.Embd, bias),
			w.part(k, w.name(l, "attn_k"), kRows, s.Embd, bias),
			w.part(v, w.name(l, "attn_v"), vRows, s.Embd, bias),
		}
	}
	all := qRows + kRows + vRows
	parts := []prog.LinearPart{
		w.cut(q, name, all, s.Embd, 0, qRows, bias),
		w.cut(k, name, all, s.Embd, qRows, kRows, bias),
		w.cut(v, name, all, s.Embd, qRows+kRows, vRows, bias),
	}
	w.b.apart(parts, w.name(l, "attn_"), qRows, kRows, vRows)
	return parts
}

// apart gives the parts of a fused matrix without a bias of its own those of the
// three products, where the file has them apart.
func (b *builder) apart(parts []prog.LinearPart, prefix string, rows ...int) {
	for i, one := range []string{"q", "k", "v"} {
		if parts[i].Bias == prog.NoWeight {
			parts[i].Bias = b.optional(prefix+one+".bias", rows[i])
		}
	}
}

// normQK normalises queries and keys: heads by the op that rotates them, whole
// rows before it.
func (w *stream) normQK(l int, ra *prog.RopeAppend) {
	qName, kName := w.name(l, "attn_q_norm"), w.name(l, "attn_k_norm")
	switch {
	case w.d.qkNorm == allHeads:
		w.b.op(w.normOp(qName, ra.Q, ra.Q, w.Heads*w.HeadDim))
		w.b.op(w.normOp(kName, ra.K, ra.K, w.KVHeads*w.HeadDim))
	case w.d.qkNorm == eachHead:
		ra.QNorm = w.b.vector(qName+".weight", w.HeadDim)
		ra.KNorm = w.b.vector(kName+".weight", w.HeadDim)
	}
}

// sinks are the scores without a key of layer l, where the file has them.
func (w *stream) sinks(l int) prog.WeightID {
	if !w.mayHaveSinks {
		return prog.NoWeight
	}
	return w.b.optional(w.name(l, "attn_sinks.weight"), w.Heads)
}
