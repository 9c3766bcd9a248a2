package prog

import (
	"strings"
	"testing"
)

// routed is a program of a choice of 2 of 4 experts and a product by 2 heads.
func routed() *Program {
	p := &Program{Arch: "routed", Vocab: 10, Embd: 8, Context: 32}
	buf := func(name string, width int, rows RowKind) BufID {
		p.Bufs = append(p.Bufs, Buffer{name, width, rows})
		return BufID(len(p.Bufs) - 1)
	}
	weight := func(name string, kind WeightKind, rows, cols, stack int) WeightID {
		p.Weights = append(p.Weights, Weight{Tensor: name, Kind: kind, Rows: rows, Cols: cols, Stack: stack})
		return WeightID(len(p.Weights) - 1)
	}
	x, logits, ids, w := buf("x", 8, TokenRows), buf("logits", 4, TokenRows), buf("ids", 2, TokenRows), buf("weights", 2, TokenRows)
	s, one, y, l := buf("s", 8, TokenRows), buf("one", 1, TokenRows), buf("y", 12, TokenRows), buf("l", 8, LogitRows)
	embd, router := weight("embd", Matrix, 10, 8, 0), weight("router", Matrix, 4, 8, 0)
	gate, up, down := weight("gate", Matrix, 6, 8, 4), weight("up", Matrix, 6, 8, 4), weight("down", Matrix, 8, 6, 4)
	bias, choice := weight("bias", Vector, 1, 6, 4), weight("choice", Vector, 1, 4, 0)
	scale, heads := weight("scale", Matrix, 1, 8, 0), weight("heads", Matrix, 5, 3, 2)
	p.Ops = []Op{
		Embed{Out: x, W: embd, Scale: 1, Pos: NoWeight, Type: NoWeight},
		Linear{In: x, Parts: []LinearPart{{logits, router, NoWeight}, {one, scale, NoWeight}}},
		Route{In: logits, Ids: ids, Weights: w, Bias: choice, Groups: 2, GroupsUsed: 1, Scale: 1},
		Experts{In: x, Out: s, Ids: ids, Weights: w, Gate: gate, Up: up, Down: down, GateBias: bias, UpBias: NoWeight, DownBias: NoWeight,
			Act: ExpertClamped, Alpha: 1.5, Limit: 7},
		RowScale{Dst: s, Gate: one},
		HeadLinear{In: s, Out: y, W: heads},
		TakeRows{In: s, Out: l},
		Head{In: l, W: embd, Bias: NoWeight, Scale: 1},
	}
	return p
}

func TestCheckExperts(t *testing.T) {
	p := routed()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if n := p.Ops[5].(HeadLinear).Rest(p); n != 1 {
		t.Errorf("the rest of a head is %d, want 1", n)
	}
	if w := p.Weights[2].Flat(); w.Rows != 24 || w.Cols != 8 || w.Stack != 0 {
		t.Errorf("a stack of matrices is flat as %+v", w)
	}
	if w := p.Weights[5].Flat(); w.Rows != 1 || w.Cols != 24 || w.Stack != 0 {
		t.Errorf("a stack of vectors is flat as %+v", w)
	}
	text := p.String()
	for _, line := range []string{
		"2 gate: matrix 6×8 × 4",
		"route ids, weights = best by softmax of logits + choice in 1 of 2 groups, scale 1",
		"experts s = sum of ids × weights: clamped (alpha 1.5, limit 7)(gate + bias, up) × down, of x",
		"row_scale s ×= sigmoid(one)",
		"head_linear y = heads by heads of s",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the printout lacks %q:\n%s", line, text)
		}
	}
}

func TestCheckExpertsRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(p *Program)
		op      int
		operand string
	}{
		{"a stack as a matrix", func(p *Program) { p.Weights[1].Stack = 1 }, 1, "part 0 W"},
		{"more chosen than there are", func(p *Program) { p.Bufs[2].Width, p.Bufs[3].Width = 5, 5 }, 2, "experts of a row (width of Ids)"},
		{"more chosen than the groups hold", func(p *Program) { p.Bufs[2].Width, p.Bufs[3].Width = 3, 3 }, 2, "experts of a row"},
		{"groups that do not divide", func(p *Program) { edit(p, 2, func(o *Route) { o.Groups = 3 }) }, 2, "experts modulo groups"},
		{"no groups", func(p *Program) { edit(p, 2, func(o *Route) { o.Groups = 0 }) }, 2, "Groups"},
		{"more groups kept than there are", func(p *Program) { edit(p, 2, func(o *Route) { o.GroupsUsed = 3 }) }, 2, "GroupsUsed"},
		{"a bias of another width", func(p *Program) { p.Weights[6].Cols = 3 }, 2, "Bias"},
		{"a score that is none", func(p *Program) { edit(p, 2, func(o *Route) { o.Score = 9 }) }, 2, "Score"},
		{"weights on the ids", func(p *Program) { edit(p, 2, func(o *Route) { o.Weights = o.Ids }) }, 2, "Weights"},
		{"ids that no choice made", func(p *Program) {
			edit(p, 3, func(o *Experts) { o.Ids = o.Weights })
		}, 3, "Ids"},
		{"fewer matrices than the choice knows", func(p *Program) {
			for i := 2; i < 6; i++ {
				p.Weights[i].Stack = 3
			}
		}, 3, "Ids"},
		{"logits after they were used up", func(p *Program) { edit(p, 4, func(o *RowScale) { o.Dst = 1 }) }, 4, "Dst"},
		{"up of another shape", func(p *Program) { p.Weights[3].Rows = 7 }, 3, "Up"},
		{"down of fewer", func(p *Program) { p.Weights[4].Stack = 3 }, 3, "Down"},
		{"no matrix", func(p *Program) { edit(p, 3, func(o *Experts) { o.Gate = 99 }) }, 3, "Gate"},
		{"biases of another width", func(p *Program) { p.Weights[5].Cols = 5 }, 3, "GateBias"},
		{"a limit of zero", func(p *Program) { edit(p, 3, func(o *Experts) { o.Limit = 0 }) }, 3, "Limit"},
		{"an act that is none", func(p *Program) { edit(p, 3, func(o *Experts) { o.Act = 3 }) }, 3, "Act"},
		{"a result on its input", func(p *Program) { edit(p, 3, func(o *Experts) { o.Out = o.In }) }, 3, "Out"},
		{"a gate of two", func(p *Program) { p.Bufs[5].Width, p.Weights[7].Rows = 2, 2 }, 4, "Gate"},
		{"heads that do not divide", func(p *Program) { p.Weights[8].Stack = 3 }, 5, "width of In modulo heads"},
		{"a matrix wider than the head", func(p *Program) { p.Weights[8].Cols = 5 }, 5, "width of a head of In"},
		{"an output without the rest", func(p *Program) { p.Bufs[6].Width = 10 }, 5, "width of Out"},
		{"heads of no stack", func(p *Program) { p.Weights[8].Stack = 0 }, 5, "heads (stack of W)"},
		{"a stack that is too high", func(p *Program) { p.Weights[8].Stack = 1 << 28 }, -1, "weight 8 (heads), stack"},
	} {
		p := routed()
		c.spoil(p)
		err, ok := p.Check().(*ShapeError)
		if !ok || err.Op != c.op || err.Operand != c.operand {
			t.Errorf("%s: got %v, want a fault of op %d, operand %s", c.name, err, c.op, c.operand)
		}
	}
}
