package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// Spec is what a decoder's metadata says, checked against bounds and against
// the tensors. It is plain data.
type Spec struct {
	Arch    string
	Name    string // general.name, may be empty
	Layers  int
	Embd    int // width of the residual stream
	FFN     int // width between gate and down
	Heads   int // query heads
	KVHeads int // key-value heads; divides Heads
	HeadDim int
	Vocab   int
	Context int // longest context in tokens that the file states
	Eps     float32
	Tied    bool // the output matrix is the embedding
}

// decoder says in what an architecture differs from the usual block
//
//	x ─┬─ norm ─ q,k,v ─ (head norm) ─ rope ─ attend ─ out ─(+)─┬─ norm ─ gate,up ─ silu× ─ down ─(+)─
//	   └──────────────────────────────────────────────────────┘ └────────────────────────────────┘
type decoder struct {
	order     prog.PairOrder
	qkvBias   need
	otherBias need // of the attention's output and of the three feed-forward matrices
	headNorm  bool // RMS norm of each head's query and key before they rotate
	factors   bool // may bring rotary factors in rope_freqs.weight
}

// need says whether a tensor belongs to an architecture.
type need uint8

const (
	absent need = iota
	maybe
	required
)

// lower reads the metadata and writes the program.
func (d decoder) lower(f file, arch string) (*Model, error) {
	b := newBuilder(f, arch)
	m := &keys{file: f, arch: arch}
	s := readSpec(m)
	rope := readRope(m, s)
	if m.err != nil {
		return nil, m.err
	}
	// The query matrix of the first layer proves heads × head dim, so that
	// nothing below is larger than what the file really holds.
	b.face("blk.0.attn_q.weight", s.Heads*s.HeadDim, s.Embd)
	if d.factors && b.has(ropeFactors) {
		b.readFactors(rope)
	}
	if b.err != nil {
		return nil, b.err
	}
	d.write(b, s, rope.lower(d.order))
	b.strangers()
	if b.err != nil {
		return nil, b.err
	}
	if err := b.prog.Check(); err != nil {
		return nil, fmt.Errorf("model: %s: %w", arch, err)
	}
	return &Model{Spec: *s, Program: b.prog}, nil
}

// write lowers the layers. The last layer keeps only the rows that want logits
// once its attention is done: what follows acts on each row alone, so the bits
// are the same, and most rows of a prompt skip the feed-forward there.
func (d decoder) write(b *builder, s *Spec, rope prog.Rope) {
	p := b.prog
	p.Vocab, p.Embd, p.Context = s.Vocab, s.Embd, s.Context
	qWidth, kvWidth := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim

	w := &width{b: b, rows: prog.TokenRows, s: s}
	x, h := b.buf("x", s.Embd, prog.TokenRows), b.buf("h", s.Embd, prog.TokenRows)
	q, k := b.buf("q", qWidth, prog.TokenRows), b.buf("k", kvWidth, prog.TokenRows)
	v, att := b.buf("v", kvWidth, prog.TokenRows), b.buf("att", qWidth, prog.TokenRows)
	w.x, w.h, w.att = x, h, att

	embd := b.matrix("token_embd.weight", s.Vocab, s.Embd)
	b.op(prog.Embed{Out: x, W: embd, Scale: 1, Pos: prog.NoWeight, Type: prog.NoWeight})
	for l := range s.Layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", l, part) }
		p.KV = append(p.KV, prog.KVLayer{Heads: s.KVHeads, KeyDim: s.HeadDim, ValueDim: s.HeadDim})

		w.norm(name("attn_norm.weight"), l > 0)
		b.op(prog.Linear{In: h, Parts: []prog.LinearPart{
			w.part(q, name("attn_q"), qWidth, s.Embd, d.qkvBias),
			w.part(k, name("attn_k"), kvWidth, s.Embd, d.qkvBias),
			w.part(v, name("attn_v"), kvWidth, s.Embd, d.qkvBias),
		}})
		ra := prog.RopeAppend{Q: q, K: k, V: v, KV: l, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
			QNorm: prog.NoWeight, KNorm: prog.NoWeight, NormEps: s.Eps, Rope: rope}
		if d.headNorm {
			ra.QNorm = b.vector(name("attn_q_norm.weight"), s.HeadDim)
			ra.KNorm = b.vector(name("attn_k_norm.weight"), s.HeadDim)
		}
		b.op(ra)
		b.op(prog.Attend{Q: q, Out: att, KV: l, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim,
			Scale: float32(1 / math.Sqrt(float64(s.HeadDim))), Sinks: prog.NoWeight})
		if l == s.Layers-1 {
			w.take()
		}
		b.op(prog.Linear{In: w.att, Parts: []prog.LinearPart{w.part(w.add(), name("attn_output"), s.Embd, qWidth, d.otherBias)}})
		w.norm(name("ffn_norm.weight"), true)
		gate, up := w.ffn()
		b.op(prog.Linear{In: w.h, Parts: []prog.LinearPart{
			w.part(gate, name("ffn_gate"), s.FFN, s.Embd, d.otherBias),
			w.part(up, name("ffn_up"), s.FFN, s.Embd, d.otherBias),
		}})
		b.op(prog.GateMul{Gate: gate, Up: up, Out: gate, Act: prog.SiLU})
		b.op(prog.Linear{In: gate, Parts: []prog.LinearPart{w.part(w.add(), name("ffn_down"), s.Embd, s.FFN, d.otherBias)}})
	}
	w.norm("output_norm.weight", true)
	head := embd
	if !s.Tied {
		head = b.matrix("output.weight", s.Vocab, s.Embd)
	}
	b.op(prog.Head{In: w.h, W: head, Bias: prog.NoWeight, Scale: 1})
}

// width is the set of buffers that the residual stream runs through: first one
// row a token, after take one row for each row that wants logits.
type width struct {
	b       *builder
	s       *Spec
	rows    prog.RowKind
	x, h    prog.BufID
	att     prog.BufID
	sum     prog.BufID // what the next norm adds to x
	gate    prog.BufID
	up      prog.BufID
	haveAdd bool
	haveFFN bool
}

// take moves the stream to the rows that want logits.
func (w *width) take() {
	b := w.b
	x, att := b.buf("x.out", w.s.Embd, prog.LogitRows), b.buf("att.out", w.s.Heads*w.s.HeadDim, prog.LogitRows)
	b.op(prog.TakeRows{In: w.att, Out: att})
	b.op(prog.TakeRows{In: w.x, Out: x})
	h := b.buf("h.out", w.s.Embd, prog.LogitRows)
	*w = width{b: b, s: w.s, rows: prog.LogitRows, x: x, h: h, att: att}
}

func (w *width) suffix(name string) string {
	if w.rows == prog.LogitRows {
		return name + ".out"
	}
	return name
}

// add is the buffer whose values the next norm adds to the stream.
func (w *width) add() prog.BufID {
	if !w.haveAdd {
		w.sum, w.haveAdd = w.b.buf(w.suffix("sum"), w.s.Embd, w.rows), true
	}
	return w.sum
}

func (w *width) ffn() (gate, up prog.BufID) {
	if !w.haveFFN {
		w.gate, w.up, w.haveFFN = w.b.buf(w.suffix("gate"), w.s.FFN, w.rows), w.b.buf(w.suffix("up"), w.s.FFN, w.rows), true
	}
	return w.gate, w.up
}

func (w *width) norm(weight string, add bool) {
	n := prog.Norm{In: w.x, Out: w.h, Add: prog.NoBuf, W: w.b.vector(weight, w.s.Embd), Bias: prog.NoWeight, Norm: prog.RMS, Eps: w.s.Eps}
	if add {
		n.Add = w.add()
	}
	w.b.op(n)
}

// part is one matrix of a Linear with its bias, where the architecture has one.
func (w *width) part(out prog.BufID, name string, rows, cols int, bias need) prog.LinearPart {
	p := prog.LinearPart{Out: out, W: w.b.matrix(name+".weight", rows, cols), Bias: prog.NoWeight}
	switch bias {
	case maybe:
		p.Bias = w.b.optional(name+".bias", rows)
	case required:
		p.Bias = w.b.vector(name+".bias", rows)
	}
	return p
}
