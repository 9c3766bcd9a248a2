package prog

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// tiny is a whole decoder layer with every op of the vocabulary but AddTo.
func tiny() *Program {
	p := &Program{Arch: "tiny", Vocab: 10, Embd: 8, Context: 32}
	buf := func(name string, width int, rows RowKind) BufID {
		p.Bufs = append(p.Bufs, Buffer{name, width, rows})
		return BufID(len(p.Bufs) - 1)
	}
	weight := func(name string, kind WeightKind, rows, cols int) WeightID {
		p.Weights = append(p.Weights, Weight{Tensor: name, Kind: kind, Rows: rows, Cols: cols})
		return WeightID(len(p.Weights) - 1)
	}
	x, h := buf("x", 8, TokenRows), buf("h", 8, TokenRows)
	q, k, v, a := buf("q", 8, TokenRows), buf("k", 4, TokenRows), buf("v", 4, TokenRows), buf("a", 8, TokenRows)
	g, u := buf("g", 12, TokenRows), buf("u", 12, TokenRows)
	l, m := buf("l", 8, LogitRows), buf("m", 8, LogitRows)
	embd, norm := weight("embd", Matrix, 10, 8), weight("norm", Vector, 1, 8)
	wq, wk, wv := weight("wq", Matrix, 8, 8), weight("wk", Matrix, 4, 8), weight("wv", Matrix, 4, 8)
	bq, hn := weight("bq", Vector, 1, 8), weight("hn", Vector, 1, 4)
	wg, wu, wd := weight("wg", Matrix, 12, 8), weight("wu", Matrix, 12, 8), weight("wd", Matrix, 8, 12)
	p.KV = []KVLayer{{Heads: 1, KeyDim: 4, ValueDim: 4}}
	rope := Rope{Dim: 4, Freqs: []float32{1, 0.01}, Mag: 1}
	p.Ops = []Op{
		Embed{Out: x, W: embd, Scale: 1, Pos: NoWeight, Type: NoWeight},
		Norm{In: x, Out: h, Add: NoBuf, W: norm, Bias: NoWeight, Eps: 1e-5},
		Linear{In: h, Parts: []LinearPart{{q, wq, bq}, {k, wk, NoWeight}, {v, wv, NoWeight}}},
		RopeAppend{Q: q, K: k, V: v, Heads: 2, KVHeads: 1, HeadDim: 4, QNorm: hn, KNorm: hn, NormEps: 1e-6, Rope: rope},
		Attend{Q: q, Out: a, Heads: 2, KVHeads: 1, HeadDim: 4, Scale: 0.5, Window: 8, Sinks: NoWeight},
		Norm{In: x, Add: a, Out: h, W: norm, Bias: norm, Norm: LayerNorm, Eps: 1e-5},
		Linear{In: h, Parts: []LinearPart{{g, wg, NoWeight}, {u, wu, NoWeight}}},
		GateMul{Gate: g, Up: u, Out: g},
		Linear{In: g, Parts: []LinearPart{{h, wd, NoWeight}}},
		AddTo{Dst: x, Src: h, Scale: 1},
		TakeRows{In: x, Out: l},
		Norm{In: l, Add: NoBuf, Out: m, W: norm, Bias: NoWeight, Eps: 1e-5},
		Head{In: m, W: embd, Bias: NoWeight, Scale: 1},
	}
	return p
}

func edit[T Op](p *Program, i int, f func(*T)) {
	op := p.Ops[i].(T)
	f(&op)
	p.Ops[i] = op
}

func TestCheckAccepts(t *testing.T) {
	if err := tiny().Check(); err != nil {
		t.Fatal(err)
	}
}

// TestCheckFaults breaks one operand at a time and asks that the error names
// the op, the operand, and both sides.
func TestCheckFaults(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name    string
		edit    func(p *Program)
		op      int
		operand string
		text    string
	}{
		{"vocab", func(p *Program) { p.Vocab = 0 }, -1, "vocab", "got 0"},
		{"embd", func(p *Program) { p.Embd = 1 << 30 }, -1, "embd", "expected 1 to"},
		{"context", func(p *Program) { p.Context = 0 }, -1, "context", "got 0"},
		{"no ops", func(p *Program) { p.Ops = nil }, -1, "number of ops", "got 0"},
		{"no buffers", func(p *Program) { p.Bufs = nil }, -1, "number of buffers", "got 0"},
		{"buffer width", func(p *Program) { p.Bufs[3].Width = -1 }, -1, "buffer 3 (k), width", "got -1"},
		{"vector of rows", func(p *Program) { p.Weights[1].Rows = 2 }, -1, "weight 1 (norm), rows of a vector", "got 2"},
		{"weight rows", func(p *Program) { p.Weights[0].Rows = 0 }, -1, "weight 0 (embd), rows", "got 0"},
		{"kv", func(p *Program) { p.KV[0].Heads = 0 }, -1, "kv layer 0, heads", "got 0"},
		{"embed rows", func(p *Program) { p.Weights[0].Rows = 11 }, 0, "rows of W (the vocabulary)", "expected 10, got 11"},
		{"embed scale", func(p *Program) { edit(p, 0, func(o *Embed) { o.Scale = nan }) }, 0, "Scale", "NaN"},
		{"embed out", func(p *Program) { edit(p, 0, func(o *Embed) { o.Out = 3 }) }, 0, "Out", "width 8, got k of width 4"},
		{"norm unwritten", func(p *Program) { edit(p, 1, func(o *Norm) { o.In = 5 }) }, 1, "In", "a, not yet written"},
		{"norm over its sum", func(p *Program) { edit(p, 5, func(o *Norm) { o.Out = o.Add }) }, 5, "Out", "twice"},
		{"embed positions", func(p *Program) { edit(p, 0, func(o *Embed) { o.Pos = 0 }) }, 0, "rows of Pos (positions)", "got 10"},
		{"embed type", func(p *Program) { edit(p, 0, func(o *Embed) { o.Type = 6 }) }, 0, "Type", "1×8, got hn"},
		{"norm eps", func(p *Program) { edit(p, 1, func(o *Norm) { o.Eps = 0 }) }, 1, "Eps", "positive"},
		{"norm weight", func(p *Program) { edit(p, 1, func(o *Norm) { o.W = 0 }) }, 1, "W", "a vector of 1×8, got embd"},
		{"norm add", func(p *Program) { edit(p, 5, func(o *Norm) { o.Add = o.In }) }, 5, "Add", "twice"},
		{"linear cols", func(p *Program) { edit(p, 2, func(o *Linear) { o.Parts[0].W = 9 }) }, 2, "part 0 W", "8×8, got wd, a matrix of 8×12"},
		{"linear out", func(p *Program) { edit(p, 2, func(o *Linear) { o.Parts[1].Out = o.Parts[0].Out }) }, 2, "part 1 Out", "twice"},
		{"linear bias", func(p *Program) { edit(p, 2, func(o *Linear) { o.Parts[0].Bias = 6 }) }, 2, "part 0 Bias", "1×8, got hn"},
		{"linear weight index", func(p *Program) { edit(p, 2, func(o *Linear) { o.Parts[0].W = 99 }) }, 2, "part 0 W", "got 99"},
		{"linear empty", func(p *Program) { edit(p, 2, func(o *Linear) { o.Parts = nil }) }, 2, "number of parts", "got 0"},
		{"rope heads", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Heads = 3; o.KVHeads = 2 }) }, 3, "heads", "a multiple of 2"},
		{"rope kv", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.KV = 1 }) }, 3, "kv layer", "got 1"},
		{"rope dim", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Rope.Dim = 6 }) }, 3, "Rope.Dim", "got 6"},
		{"rope freqs", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Rope.Freqs = []float32{1} }) }, 3, "Rope.Dim (2 × frequencies)", "got 4"},
		{"rope freq", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Rope.Freqs = []float32{1, nan} }) }, 3, "Rope.Freqs[1]", "NaN"},
		{"rope norm", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.KNorm = 1 }) }, 3, "KNorm", "1×4"},
		{"attend shape", func(p *Program) { p.KV[0].ValueDim = 8; p.KV[0].KeyDim = 8 }, 3, "kv layer", "keys of 4, got 1 with 8"},
		{"value width", func(p *Program) { p.KV[0].ValueDim = 8 }, 3, "V", "width 8, got v of width 4"},
		{"attend window", func(p *Program) { edit(p, 4, func(o *Attend) { o.Window = -1 }) }, 4, "Window", "got -1"},
		{"rope from", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Rope.From = 1 }) }, 3, "Rope.From", "got 1"},
		{"rope temperature", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.Temp.Scale = 1 }) }, 3, "Temp.Every", "got 0"},
		{"rope value in key", func(p *Program) {
			p.KV[0].ValueDim = 5
			p.KV[0].Prefix = true
			edit(p, 3, func(o *RopeAppend) { o.V = NoBuf })
		}, 3, "value width", "got 5"},
		{"rope value beside one in the key", func(p *Program) { p.KV[0].Prefix = true }, 3, "V", "none where"},
		{"rope without a value", func(p *Program) { edit(p, 3, func(o *RopeAppend) { o.V = NoBuf }) }, 3, "V", "got -1"},
		{"attend cap", func(p *Program) { edit(p, 4, func(o *Attend) { o.Cap = -1 }) }, 4, "Cap", "positive"},
		{"attend sinks", func(p *Program) { edit(p, 4, func(o *Attend) { o.Sinks = 6 }) }, 4, "Sinks", "1×2, got hn"},
		{"attend beyond the layer's window", func(p *Program) { p.KV[0].Window = 7 }, 4, "Window", "1 to 7, got 8"},
		{"kv window", func(p *Program) { p.KV[0].Window = -1 }, -1, "kv layer 0, window", "got -1"},
		{"attend out", func(p *Program) { edit(p, 4, func(o *Attend) { o.Out = o.Q }) }, 4, "Out", "twice"},
		{"gate width", func(p *Program) { edit(p, 7, func(o *GateMul) { o.Up = 0 }) }, 7, "Up", "width 12"},
		{"gate act", func(p *Program) { edit(p, 7, func(o *GateMul) { o.Act = 9 }) }, 7, "Act", "got 9"},
		{"activate act", func(p *Program) { p.Ops[7] = Activate{In: 6, Out: 6, Act: 9} }, 7, "Act", "got 9"},
		{"activate width", func(p *Program) { p.Ops[7] = Activate{In: 6, Out: 0} }, 7, "Out", "width 12"},
		{"add scale", func(p *Program) { edit(p, 9, func(o *AddTo) { o.Scale = nan }) }, 9, "Scale", "NaN"},
		{"head cap", func(p *Program) { edit(p, 12, func(o *Head) { o.Cap = nan }) }, 12, "Cap", "positive"},
		{"add itself", func(p *Program) { edit(p, 9, func(o *AddTo) { o.Src = o.Dst }) }, 9, "Src", "twice"},
		{"take rows", func(p *Program) { edit(p, 10, func(o *TakeRows) { o.Out = 1 }) }, 10, "Out", "logit rows, got h of token rows"},
		{"mixed rows", func(p *Program) { edit(p, 11, func(o *Norm) { o.Add = 0 }) }, 11, "Add", "logit rows, got x of token rows"},
		{"head rows", func(p *Program) { edit(p, 12, func(o *Head) { o.In = 0 }) }, 12, "In", "logit rows"},
		{"head not last", func(p *Program) { p.Ops = append(p.Ops, AddTo{Dst: 8, Src: 9}) }, 12, "place in the list", "got 12"},
		{"no head", func(p *Program) { p.Ops = p.Ops[:12] }, -1, "heads (ops that make logits)", "got 0"},
		{"buffer index", func(p *Program) { edit(p, 1, func(o *Norm) { o.In = -1 }) }, 1, "In", "got -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := tiny()
			c.edit(p)
			err := p.Check()
			var fault *ShapeError
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a ShapeError", err)
			}
			if fault.Op != c.op || !strings.HasPrefix(fault.Operand, c.operand) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %q, want op %d, operand %q, text %q", err, c.op, c.operand, c.text)
			}
			_ = p.String() // a faulty program must print too
		})
	}
}

func TestString(t *testing.T) {
	s := tiny().String()
	for _, want := range []string{
		"program tiny: vocab 10, embd 8, context 32",
		"0 embed x = 1 × embd",
		"norm h = layer(x += a) × norm + norm, eps 1e-05",
		"linear h: q = wq + bq; k = wk; v = wv",
		"rope_append q, k, v to kv 0: 2/1 heads × 4, rope r0, q norm hn, k norm hn, eps 1e-06",
		"attend a = q over kv 0: 2/1 heads × 4, scale 0.5, window 8",
		"gate_mul g = silu(g) × u",
		"add_to x += h",
		"take_rows l = x",
		"head m: logits = embd",
		"r0: dim 4, interleaved, mag 1, freqs [1 0.01]",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("printout lacks %q:\n%s", want, s)
		}
	}
}

// TestStringMore prints what few models use.
func TestStringMore(t *testing.T) {
	p := tiny()
	p.KV[0].Window = 9
	edit(p, 0, func(o *Embed) { o.Pos, o.Type = 0, 1 })
	edit(p, 3, func(o *RopeAppend) { o.Rope.From, o.V, o.Temp = 2, NoBuf, Temperature{0.5, 16} })
	edit(p, 4, func(o *Attend) { o.Both, o.Cap, o.Sinks = true, 30, 5 })
	p.Ops[7] = Activate{In: 6, Out: 6, Act: GELU}
	edit(p, 9, func(o *AddTo) { o.Scale = 0.25 })
	edit(p, 12, func(o *Head) { o.Scale, o.Cap = 2, 20 })
	s := p.String()
	for _, want := range []string{
		"0: 1 heads, key 4, value 4, window 9",
		"0 embed x = 1 × embd + embd + norm",
		"rope_append q, k, key's beginning to kv 0: 2/1 heads × 4, rope r0, q norm hn, k norm hn, eps 1e-06, q × 1 + 0.5 ln(1 + ⌊pos/16⌋)",
		"scale 0.5, cap 30, window 8, both ways, sinks bq",
		"activate g = gelu(g)",
		"add_to x += 0.25 × h",
		"head m: logits = 2 × embd, cap 20",
		"r0: dim 4 from 2, interleaved",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("printout lacks %q:\n%s", want, s)
		}
	}
}

func TestMemory(t *testing.T) {
	p := tiny()
	if got, want := p.BufferBytes(3, 2), int64(4*(3*(8+8+8+4+4+8+12+12)+2*(8+8))); got != want {
		t.Errorf("BufferBytes = %d, want %d", got, want)
	}
	if got := p.KVValues(); got != 8 {
		t.Errorf("KVValues = %d, want 8", got)
	}
}

func TestBatchReset(t *testing.T) {
	b := &Batch{Tokens: []int32{1}, Pos: []int32{0}, Slots: []int32{0}, SeqStart: []int32{0, 1}, CtxLen: []int32{1}, Tables: []int32{0}, Stride: 1, Logits: []int32{0}}
	if b.Seqs() != 1 {
		t.Errorf("Seqs = %d, want 1", b.Seqs())
	}
	b.Reset()
	if b.Seqs()+len(b.Tokens)+len(b.Pos)+len(b.Slots)+len(b.SeqStart)+len(b.Tables)+len(b.Logits) != 0 {
		t.Errorf("Reset left %+v", b)
	}
	if cap(b.Tokens) != 1 {
		t.Error("Reset dropped its memory")
	}
}
