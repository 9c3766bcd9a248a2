package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// readEncoder reads the sizes of a model whose rows see both ways. eps names the
// key of what its norms add to the variance.
func readEncoder(k *keys, eps string) *Spec {
	s := readSpec(k, eps)
	if k.err == nil && s.ValueDim != s.HeadDim {
		k.fail(k.name("attention.value_length"), s.ValueDim, fmt.Sprintf("the head's width, %d", s.HeadDim), ErrUnsupported)
	}
	if causal, err := k.file.BoolOr(k.name("attention.causal"), false); err != nil || causal {
		k.fail(k.name("attention.causal"), causal, "false for an encoder", ErrUnsupported)
	}
	k.refuse("expert_count", "0 (experts are not supported for this architecture)")
	return s
}

// encoder is what lowering an encoder works on: its buffers, and what its layers
// have in common.
type encoder struct {
	*builder
	s         *Spec
	norms     prog.NormKind
	x, h, sum prog.BufID // the stream, its other half, and what is added to it next
	q, k, v   prog.BufID
	att       prog.BufID
	gate, up  prog.BufID
}

// newEncoder begins an atomic program. The queries of layer 0 prove the sizes, so
// that nothing is made that is larger than the file.
func newEncoder(f file, s *Spec) (*encoder, error) {
	b := newBuilder(f, s.Arch)
	if b.prove(s); b.err != nil {
		return nil, b.err
	}
	p := b.prog
	p.Vocab, p.Embd, p.Context, p.Atomic = s.Vocab, s.Embd, s.Context, true
	e := &encoder{builder: b, s: s}
	wide := func(name string, width int) prog.BufID { return b.buf(name, width, prog.TokenRows) }
	e.x, e.h, e.sum = wide("x", s.Embd), wide("h", s.Embd), wide("sum", s.Embd)
	e.q, e.k, e.v = wide("q", s.Heads*s.HeadDim), wide("k", s.KVHeads*s.HeadDim), wide("v", s.KVHeads*s.HeadDim)
	e.att = wide("att", s.Heads*s.HeadDim)
	e.gate, e.up = wide("gate", s.FFN), wide("up", s.FFN)
	return e, nil
}

// norm is out = norm(in), or with an add norm(in += sum).
func (e *encoder) norm(in, out prog.BufID, name string, add bool) {
	n := prog.Norm{In: in, Out: out, Add: prog.NoBuf, W: e.vector(name+".weight", e.s.Embd), Bias: e.optional(name+".bias", e.s.Embd), Norm: e.norms, Eps: e.s.Eps}
	if add {
		n.Add = e.sum
	}
	e.op(n)
}

// product is out = name · in (+ bias).
func (e *encoder) product(in, out prog.BufID, name string) {
	e.op(prog.Linear{In: in, Parts: []prog.LinearPart{e.linear(in, out, name)}})
}

func (e *encoder) linear(in, out prog.BufID, name string) prog.LinearPart {
	rows := e.prog.Bufs[out].Width
	return prog.LinearPart{Out: out, W: e.matrix(name+".weight", rows, e.prog.Bufs[in].Width), Bias: e.optional(name+".bias", rows)}
}

// rows is a part of a Linear whose matrix begins in the middle of a fused one of all
// rows, and its bias.
func (e *encoder) rows(in, out prog.BufID, name string, from, all int) prog.LinearPart {
	rows := e.prog.Bufs[out].Width
	p := prog.LinearPart{Out: out, W: e.slice(name+".weight", from, rows, all, e.prog.Bufs[in].Width), Bias: prog.NoWeight}
	if e.has(name + ".bias") {
		p.Bias = e.cut(prog.Weight{Tensor: name + ".bias", Kind: prog.Vector, Rows: 1, Cols: rows, FromRow: from}, all)
	}
	return p
}

// qkv multiplies by layer l's queries, keys and values: three matrices, or one.
func (e *encoder) qkv(in prog.BufID, l int) {
	name := block(l, "attn_qkv")
	if !e.has(name + ".weight") {
		e.op(prog.Linear{In: in, Parts: []prog.LinearPart{
			e.linear(in, e.q, block(l, "attn_q")), e.linear(in, e.k, block(l, "attn_k")), e.linear(in, e.v, block(l, "attn_v")),
		}})
		return
	}
	q, kv := e.s.Heads*e.s.HeadDim, e.s.KVHeads*e.s.HeadDim
	parts := []prog.LinearPart{e.rows(in, e.q, name, 0, q+2*kv), e.rows(in, e.k, name, q, q+2*kv), e.rows(in, e.v, name, q+kv, q+2*kv)}
	e.apart(parts, block(l, "attn_"), q, kv, kv)
	e.op(prog.Linear{In: in, Parts: parts})
}

// attend rotates and attends, both ways, within a symmetric window if it is not 0.
func (e *encoder) attend(layer int, rope prog.Rope, qNorm, kNorm prog.WeightID, window int) {
	s := e.s
	e.prog.KV = append(e.prog.KV, prog.KVLayer{Heads: s.KVHeads, KeyDim: s.HeadDim, ValueDim: s.HeadDim})
	e.op(prog.RopeAppend{Q: e.q, K: e.k, V: e.v, KV: layer, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
		QNorm: qNorm, KNorm: kNorm, NormEps: s.Eps, Rope: rope})
	e.op(prog.Attend{Q: e.q, Out: e.att, KV: layer, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
		Scale: float32(1 / math.Sqrt(float64(s.HeadDim))), Window: window, Both: true, Sinks: prog.NoWeight})
}

// finish pools the rows of h and checks the whole.
func (e *encoder) finish(h prog.BufID, p pooling) (*Model, error) {
	e.pool(h, p, e.s)
	e.s.Ranks = p == poolRank
	e.strangers()
	if e.err != nil {
		return nil, e.err
	}
	if err := e.prog.Check(); err != nil {
		return nil, fmt.Errorf("model: %s: %w", e.s.Arch, err)
	}
	return &Model{Spec: *e.s, Program: e.prog}, nil
}

// block names a tensor of a layer.
func block(layer int, part string) string { return fmt.Sprintf("blk.%d.%s", layer, part) }

// firstRow is the first row of a table as a vector.
func (b *builder) firstRow(name string, rows, cols int) prog.WeightID {
	b.face(name, rows, cols)
	b.prog.Weights = append(b.prog.Weights, prog.Weight{Tensor: name, Kind: prog.Vector, Rows: 1, Cols: cols})
	return prog.WeightID(len(b.prog.Weights) - 1)
}
