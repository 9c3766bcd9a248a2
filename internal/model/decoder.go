package model

import (
	"cmp"
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// decoder says in what an architecture differs from the usual block
//
//	x ─┬─ norm ─ q,k,v ─ (head norm) ─ rope ─ attend ─ out ─(+)─┬─ norm ─ gate,up ─ act× ─ down ─(+)─
//	   └──────────────────────────────────────────────────────┘ └────────────────────────────────┘
//
// The zero value is that block, with RMS norms, SiLU and no biases.
type decoder struct {
	order     prog.PairOrder
	norm      prog.NormKind
	norms     placement
	normBias  bool
	qkvBiased bool // query, key and value must have biases; else they may
	outBias   need // of the attention's output
	ffnBias   need
	headBias  need
	qkNorm    qkNorm
	parallel  bool   // attention and feed-forward both take the first norm's output
	outNorm   string // the name of the last norm, if not output_norm
	ffnNorm   string // the name of the norm before the feed-forward, if not ffn_norm
	act       prog.Act
	ungated   bool // the feed-forward is up ─ act ─ down
	fusedUp   bool // gate and up may be one matrix, ffn_up, the gate first
	factors   bool // may bring rotary factors in rope_freqs.weight
	experts   bool // may say that it has experts

	// read takes the keys that this architecture has of its own and changes the
	// traits; nil: none.
	read func(k *keys, t *traits)
	// attend and feed write one half of layer l in place of the usual one: attend
	// from in to the buffer that w.att names, feed from in to the returned buffer,
	// which is added to the stream. nil: the usual one.
	attend  func(w *stream, l int, in prog.BufID)
	attends func(w *stream, l int) bool // layers that attend writes, and outName closes; nil: all
	outName string                      // of the product behind attend, if not attn_output
	feed    func(w *stream, l int, in prog.BufID) prog.BufID
}

// placement says where a block's norms stand.
type placement uint8

const (
	before placement = iota // of the input of attention and feed-forward
	after                   // of their outputs
	around                  // both
)

// qkNorm says what of queries and keys is normalised before it rotates.
type qkNorm uint8

const (
	noQKNorm qkNorm = iota
	eachHead        // each head by itself, one weight for all
	allHeads        // the whole row
)

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
	k := &keys{file: f, arch: arch}
	t := readTraits(k, &d)
	if k.err != nil {
		return nil, k.err
	}
	w := newStream(b, &d, t)
	w.prove()
	if d.factors {
		b.readFactors(t.rope, cmp.Or(f.context, t.Context))
	}
	t.Rope, t.RopeWhy = t.rope.describe(cmp.Or(f.context, t.Context))
	if t.rope.scaling == ropeLongRoPE && t.rope.factors == nil {
		b.fail(&KeyError{Key: k.name("rope.scaling.type"), Value: string(ropeLongRoPE), Bound: "of a file with the tensors " + longFactors + " and " + shortFactors, Err: ErrUnsupported})
	}
	if b.err != nil {
		return nil, b.err
	}
	w.write()
	b.strangers()
	if b.err != nil {
		return nil, b.err
	}
	if err := b.prog.Check(); err != nil {
		return nil, fmt.Errorf("model: %s: %w", arch, err)
	}
	return &Model{Spec: *t.Spec, Program: b.prog}, nil
}

// write lowers the layers. The last layer keeps only the rows that want logits
// once its attention is done: what follows acts on each row alone, so the bits
// are the same, and most rows of a prompt skip the feed-forward there.
func (w *stream) write() {
	b, s, d := w.b, w.Spec, w.d
	b.prog.Vocab, b.prog.Embd, b.prog.Context = s.Vocab, s.Embd, s.Context
	w.ropes = [2]prog.Rope{w.rope.lower(d.order), w.local.lower(d.order)}
	embd := b.matrix("token_embd.weight", s.Vocab, s.Embd)
	e := prog.Embed{Out: w.x, W: embd, Scale: w.embedScale, Pos: prog.NoWeight, Type: prog.NoWeight}
	if w.positions {
		e.Pos = b.matrix("position_embd.weight", s.Context, s.Embd)
	}
	b.op(e)
	for l := range s.Layers {
		in := w.input(l, "attn_norm")
		w.attention(l, in)
		if l == s.Layers-1 && w.pool != poolMean {
			in = w.take(in)
		}
		sum := w.buf("sum", s.Embd)
		b.op(prog.Linear{In: w.att, Parts: []prog.LinearPart{w.part(sum, w.outName(l), s.Embd, b.prog.Bufs[w.att].Width, d.outBias)}})
		w.output(l, "post_attention_norm", sum)
		if !d.parallel {
			in = w.input(l, d.ffnNormName())
		}
		w.output(l, "post_ffw_norm", w.feedForward(l, in))
	}
	h := w.normed(d.outputNormName())
	if w.pool != poolNone {
		b.poolDecoder(h, w.pool, s)
		return
	}
	head := prog.Head{In: h, W: embd, Bias: prog.NoWeight, Scale: w.logitScale, Cap: w.logitCap}
	switch {
	case !s.Tied:
		p := w.part(prog.NoBuf, "output", s.Vocab, s.Embd, d.headBias)
		head.W, head.Bias = p.W, p.Bias
	case d.headBias != absent:
		head.Bias = b.optional("output.bias", s.Vocab)
	}
	b.op(head)
}

func (d *decoder) outputNormName() string {
	if d.outNorm != "" {
		return d.outNorm
	}
	return "output_norm"
}

// own tells whether the architecture writes the first half of layer l itself.
func (w *stream) own(l int) bool {
	return w.d.attend != nil && (w.d.attends == nil || w.d.attends(w, l))
}

// outName is the matrix behind the first half of layer l.
func (w *stream) outName(l int) string {
	if w.d.outName != "" && w.own(l) {
		return w.name(l, w.d.outName)
	}
	return w.name(l, "attn_output")
}

func (d *decoder) ffnNormName() string {
	if d.ffnNorm != "" {
		return d.ffnNorm
	}
	return "ffn_norm"
}
