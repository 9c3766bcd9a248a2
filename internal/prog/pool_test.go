package prog

import (
	"errors"
	"strings"
	"testing"
)

// embedder is a program of every op that embeds, with a convolution: tokens,
// convolution, pooled rows, a product with tanh.
func embedder(atomic bool, kind PoolKind) *Program {
	p := &Program{Arch: "embedder", Vocab: 10, Embd: 8, Context: 32, Atomic: atomic}
	p.Bufs = []Buffer{{"x", 8, TokenRows}, {"b", 8, TokenRows}, {"c", 8, TokenRows}, {"y", 8, TokenRows},
		{"pooled", 8, LogitRows}, {"score", 3, LogitRows}}
	p.Weights = []Weight{{Tensor: "embd", Kind: Matrix, Rows: 10, Cols: 8}, {Tensor: "in", Kind: Matrix, Rows: 8, Cols: 8},
		{Tensor: "taps", Kind: Matrix, Rows: 8, Cols: 4}, {Tensor: "cls", Kind: Matrix, Rows: 3, Cols: 8}}
	p.KV = []KVLayer{StateLayer(8)}
	pool := Pool{In: 2, Out: 4, Pool: kind, KV: -1}
	if kind == PoolMean && !atomic {
		pool.KV = 1
		p.KV = append(p.KV, StateLayer(8))
	}
	p.Ops = []Op{
		Embed{Out: 0, W: 0, Scale: 1, Pos: NoWeight, Type: NoWeight},
		Linear{In: 0, Parts: []LinearPart{{1, 1, NoWeight}, {2, 1, NoWeight}, {3, 1, NoWeight}}},
		ShortConv{B: 1, C: 2, X: 3, Out: 2, W: 2, Taps: 4},
		pool,
		Linear{In: 4, Parts: []LinearPart{{5, 3, NoWeight}}},
		Activate{In: 5, Out: 5, Act: Tanh},
		Output{In: 5},
	}
	return p
}

func TestEmbedderAccepted(t *testing.T) {
	for _, p := range []*Program{embedder(true, PoolMean), embedder(true, PoolCLS), embedder(true, PoolLast), embedder(false, PoolMean), embedder(false, PoolLast)} {
		if err := p.Check(); err != nil {
			t.Errorf("%v\n%v", err, p)
		}
		if p.OutWidth() != 3 || !p.Embeds() {
			t.Errorf("a row is %d wide, embeds: %v", p.OutWidth(), p.Embeds())
		}
	}
	if p := tiny(); p.OutWidth() != p.Vocab || p.Embeds() {
		t.Error("a program with a head gives logits")
	}
	text := embedder(false, PoolMean).String()
	for _, want := range []string{"short_conv c = c × conv(b × y, taps of 4), state in kv 0", "pool pooled = mean of c, sums in kv 1", "output score", "activate score = tanh(score)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if text := embedder(true, PoolCLS).String(); !strings.Contains(text, "context 32, atomic") {
		t.Errorf("the printout does not say atomic:\n%s", text)
	}
}

// TestEmbedderFaults breaks one operand at a time.
func TestEmbedderFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(p *Program)
		op      int
		operand string
	}{
		{"cls of a program that is cut", func(p *Program) { p.Atomic = false }, 3, "Pool"},
		{"mean without sums", func(p *Program) { p.Atomic = false; edit(p, 3, func(o *Pool) { o.Pool = PoolMean }) }, 3, "kv layer"},
		{"sums of another width", func(p *Program) {
			p.Atomic, p.KV = false, append(p.KV, StateLayer(7))
			edit(p, 3, func(o *Pool) { o.Pool, o.KV = PoolMean, 1 })
		}, 3, "kv layer"},
		{"sums where none are needed", func(p *Program) { edit(p, 3, func(o *Pool) { o.KV = 0 }) }, 3, "KV"},
		{"an unknown pool", func(p *Program) { edit(p, 3, func(o *Pool) { o.Pool = 3 }) }, 3, "Pool"},
		{"pooled into token rows", func(p *Program) { edit(p, 3, func(o *Pool) { o.Out = 1 }) }, 3, "Out"},
		{"output of token rows", func(p *Program) { edit(p, 6, func(o *Output) { o.In = 0 }) }, 6, "In"},
		{"output not last", func(p *Program) { p.Ops[5], p.Ops[6] = Output{In: 5}, p.Ops[5] }, 5, "place in the list (must be the last)"},
		{"no output", func(p *Program) { p.Ops = p.Ops[:6] }, -1, "heads (ops that make logits)"},
		{"taps of another number", func(p *Program) { edit(p, 2, func(o *ShortConv) { o.Taps = 3 }) }, 2, "W"},
		{"no taps", func(p *Program) { edit(p, 2, func(o *ShortConv) { o.Taps = 0 }) }, 2, "Taps"},
		{"state in a layer of keys", func(p *Program) { p.KV[0] = KVLayer{Heads: 1, KeyDim: 8, ValueDim: 8} }, 2, "kv layer"},
		{"state out of range", func(p *Program) { edit(p, 2, func(o *ShortConv) { o.KV = 1 }) }, 2, "kv layer"},
		{"convolved over its input", func(p *Program) { edit(p, 2, func(o *ShortConv) { o.Out = 1 }) }, 2, "Out"},
	} {
		p := embedder(true, PoolCLS)
		c.edit(p)
		var e *ShapeError
		if err := p.Check(); !errors.As(err, &e) || e.Op != c.op || e.Operand != c.operand {
			t.Errorf("%s: %v, want a fault of op %d, operand %s", c.name, err, c.op, c.operand)
		}
	}
}
