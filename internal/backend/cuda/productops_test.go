package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestMixedParts: a Linear of more parts than a launch takes, in formats that share the
// rounded input and formats that don't.
func TestMixedParts(t *testing.T) {
	const cols = 256
	formats := []quant.Type{quant.Q4K, quant.Q6K, quant.Q8_0, quant.Q4K, quant.Q4K, quant.Q4K, quant.F32, quant.F16}
	for _, rows := range []int{1, 9} {
		p := &prog.Program{Vocab: 10, Embd: 8, Context: 64, Bufs: []prog.Buffer{{Name: "in", Width: cols}}}
		o := prog.Linear{In: 0}
		types := map[prog.WeightID]quant.Type{}
		for i, f := range formats {
			n := 10 + 9*i
			p.Bufs = append(p.Bufs, prog.Buffer{Name: "out", Width: n})
			p.Weights = append(p.Weights, prog.Weight{Tensor: "w", Rows: n, Cols: cols})
			types[prog.WeightID(i)] = f
			o.Parts = append(o.Parts, prog.LinearPart{Out: prog.BufID(i + 1), W: prog.WeightID(i), Bias: prog.NoWeight})
		}
		p.Ops = []prog.Op{o}
		s, files := newMatrixStand(t, uint64(rows), p, rows, types)
		in := s.fill(0, 1)
		s.run()
		for i, f := range files {
			n := p.Weights[i].Rows
			s.near(fmt.Sprintf("%d rows, part %d, %s", rows, i, f.format.Name), s.values(prog.BufID(i+1)), products(f, 0, n, in, cols), n, 1e-5)
		}
	}
}

// TestRowsAlone: few rows give the same bits whatever rows are beside them, in 1 to 8.
func TestRowsAlone(t *testing.T) {
	const cols, outs = 1024 + 256, 12
	for _, f := range matmulFormats() {
		var want []float32
		rng := rand.New(rand.NewPCG(1, 2))
		in := make([]float32, 8*cols)
		for i := range in {
			in[i] = float32(rng.NormFloat64())
		}
		for _, rows := range []int{8, 4, 2, 1} {
			p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
				Bufs:    []prog.Buffer{{Name: "in", Width: cols}, {Name: "out", Width: outs}},
				Weights: []prog.Weight{{Tensor: "w", Rows: outs, Cols: cols}},
				Ops:     []prog.Op{prog.Linear{In: 0, Parts: []prog.LinearPart{{Out: 1, W: 0, Bias: prog.NoWeight}}}}}
			if rows > multipliers[f.Type].fewRows && multipliers[f.Type].fewRows > 0 {
				continue
			}
			s, _ := newMatrixStand(t, 9, p, rows, map[prog.WeightID]quant.Type{0: f.Type})
			s.write(s.rig.buf(0), in[:rows*cols])
			s.run()
			got := s.values(1)
			if want == nil {
				want = got
			}
			s.same(fmt.Sprintf("%s, %d rows", f.Name, rows), got, want[:len(got)])
		}
	}
}

// TestHead: bias, scale and cap of logits, of the rows that want them.
func TestHead(t *testing.T) {
	const cols, vocab, rows = 64, 300, 5
	p := &prog.Program{Vocab: vocab, Embd: cols, Context: 64,
		Bufs:    []prog.Buffer{{Name: "in", Width: cols, Rows: prog.LogitRows}},
		Weights: []prog.Weight{{Tensor: "w", Rows: vocab, Cols: cols}, {Tensor: "b", Kind: prog.Vector, Rows: 1, Cols: vocab}},
		Ops:     []prog.Op{prog.Head{In: 0, W: 0, Bias: 1, Scale: 0.25, Cap: 3}}}
	s, files := newMatrixStand(t, 6, p, rows, map[prog.WeightID]quant.Type{0: quant.Q8_0})
	in := s.fill(0, 1)
	s.run()
	want := products(files[0], 0, vocab, in, cols)
	for i := range want {
		v := float32(want[i]) + files[1].vector[i%vocab]
		want[i] = float64(num.Softcap32(v*0.25, 3))
	}
	s.near("logits", s.read(s.rig.logits, len(want)), want, vocab, 1e-5)
}

// TestEmbed: rows looked up have the bits of the file's, scaled; positions and the type
// are added in this order.
func TestEmbed(t *testing.T) {
	const width, rows = 512, 3
	for _, f := range matmulFormats() {
		p := &prog.Program{Vocab: 10, Embd: width, Context: 64,
			Bufs: []prog.Buffer{{Name: "out", Width: width}},
			Weights: []prog.Weight{{Tensor: "w", Rows: 10, Cols: width}, {Tensor: "p", Rows: 64, Cols: width},
				{Tensor: "t", Kind: prog.Vector, Rows: 1, Cols: width}},
			Ops: []prog.Op{prog.Embed{Out: 0, W: 0, Scale: 1.7, Pos: 1, Type: 2}}}
		s, files := newMatrixStand(t, 8, p, rows, map[prog.WeightID]quant.Type{0: f.Type, 1: quant.F16})
		s.run()
		var want []float32
		row, pos := make([]float32, width), make([]float32, width)
		for i, token := range s.batch.Tokens {
			f.Decode(row, files[0].row(int(token), width))
			files[1].format.Decode(pos, files[1].row(int(s.batch.Pos[i]), width))
			for c := range row {
				v := float32(row[c]*1.7) + pos[c]
				want = append(want, v+files[2].vector[c])
			}
		}
		s.same(f.Name, s.values(0), want)
	}
}

// expertCase is a shape of experts.
type expertCase struct {
	rows, used       int
	act              prog.ExpertAct
	gate, up, down   quant.Type
	in, hidden, outs int
}

// TestExperts: experts by choice and brought together, of one format and of several,
// with biases; some experts have no row, one has many.
func TestExperts(t *testing.T) {
	const experts = 6
	for _, c := range []expertCase{
		{1, 2, prog.ExpertSiLU, quant.Q8_0, quant.Q8_0, quant.Q8_0, 64, 96, 40},
		{3, 2, prog.ExpertClamped, quant.Q4K, quant.Q4K, quant.Q6K, 256, 256, 20},
		{4, 3, prog.ExpertGELU, quant.F16, quant.F32, quant.BF16, 44, 36, 12},
		{7, 2, prog.ExpertGELU, quant.F16, quant.F32, quant.BF16, 44, 36, 12},
		{13, 2, prog.ExpertClamped, quant.Q4K, quant.Q6K, quant.Q4_0, 256, 32, 20},
		{70, 2, prog.ExpertSiLU, quant.Q8_0, quant.Q8_0, quant.Q8_0, 64, 32, 40},
	} {
		t.Run(fmt.Sprintf("%d-%v-%v", c.rows, c.act, c.gate), func(t *testing.T) {
			stack := func(rows, cols int) prog.Weight {
				return prog.Weight{Tensor: "w", Rows: rows, Cols: cols, Stack: experts}
			}
			bias := func(n int) prog.Weight {
				return prog.Weight{Tensor: "b", Kind: prog.Vector, Rows: 1, Cols: n, Stack: experts}
			}
			o := prog.Experts{In: 0, Out: 1, Ids: 2, Weights: 3, Gate: 0, Up: 1, Down: 2, GateBias: 3, UpBias: 4, DownBias: 5, Act: c.act, Alpha: 1.7, Limit: 1.5}
			p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
				Bufs:    []prog.Buffer{{Name: "in", Width: c.in}, {Name: "out", Width: c.outs}, {Name: "ids", Width: c.used}, {Name: "weights", Width: c.used}},
				Weights: []prog.Weight{stack(c.hidden, c.in), stack(c.hidden, c.in), stack(c.outs, c.hidden), bias(c.hidden), bias(c.hidden), bias(c.outs)},
				Ops:     []prog.Op{o}}
			s, files := newMatrixStand(t, uint64(c.rows), p, c.rows, map[prog.WeightID]quant.Type{0: c.gate, 1: c.up, 2: c.down})
			in, weights := s.fill(0, 1), s.fill(3, 1)
			ids := make([]float32, c.rows*c.used)
			for r := range c.rows {
				first := s.rng.IntN(2) * s.rng.IntN(experts-1) // expert 0 is liked, the last not at all
				for k := range c.used {
					ids[r*c.used+k] = float32((first + k) % (experts - 1))
				}
			}
			s.write(s.rig.buf(2), ids)
			s.run()
			want := make([]float64, c.rows*c.outs)
			for r := range c.rows {
				for k := range c.used {
					e := int(ids[r*c.used+k])
					y := oneExpert(o, files, c, e, in[r*c.in:(r+1)*c.in])
					for i := range y {
						want[r*c.outs+i] += y[i] * float64(weights[r*c.used+k])
					}
				}
			}
			s.near("experts", s.values(1), want, c.outs, 1e-5)
		})
	}
}

// oneExpert is what expert e makes of a row.
func oneExpert(o prog.Experts, files []fileWeight, c expertCase, e int, x []float32) []float64 {
	part := func(w, bias int, n int, x []float32) []float64 {
		y := products(files[w], e*n, n, x, len(x))
		for i := range y {
			y[i] += float64(files[bias].vector[e*n+i])
		}
		return y
	}
	gate, up := part(0, 3, c.hidden, x), part(1, 4, c.hidden, x)
	hidden := make([]float32, c.hidden)
	silu := func(v float64) float64 { return v / (1 + math.Exp(-v)) }
	for i, g := range gate {
		switch o.Act {
		case prog.ExpertSiLU:
			hidden[i] = float32(silu(g) * up[i])
		case prog.ExpertGELU:
			hidden[i] = num.GELU32(float32(g)) * float32(up[i])
		case prog.ExpertClamped:
			u := min(max(up[i], -float64(o.Limit)), float64(o.Limit))
			g = min(g, float64(o.Limit))
			hidden[i] = float32(silu(float64(o.Alpha)*g) / float64(o.Alpha) * (u + 1))
		}
	}
	return part(2, 5, c.outs, hidden)
}

// TestGroupRows: the slots of many choices, against a plain sort.
func TestGroupRows(t *testing.T) {
	const n, used, rows = 70, 3, 50
	p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
		Bufs:    []prog.Buffer{{Name: "in", Width: 8}, {Name: "out", Width: 8}, {Name: "ids", Width: used}, {Name: "weights", Width: used}},
		Weights: []prog.Weight{{Tensor: "w", Rows: 8, Cols: 8, Stack: n}, {Tensor: "w", Rows: 8, Cols: 8, Stack: n}, {Tensor: "w", Rows: 8, Cols: 8, Stack: n}},
		Ops:     []prog.Op{prog.Experts{In: 0, Out: 1, Ids: 2, Weights: 3, Gate: 0, Up: 1, Down: 2, GateBias: -1, UpBias: -1, DownBias: -1}}}
	s, _ := newMatrixStand(t, 2, p, rows, map[prog.WeightID]quant.Type{0: quant.F32, 1: quant.F32, 2: quant.F32})
	ids := make([]float32, rows*used)
	for i := range ids {
		ids[i] = float32(s.rng.IntN(n))
		if i%3 == 0 {
			ids[i] = 69
		}
	}
	s.write(s.rig.buf(2), ids)
	o := s.op.(*experts)
	l := o.group(o.count(0))
	k, err := kernelOf(l.kernel)
	s.must(err)
	s.must(s.machine.Launch(k, l.grid, l.block, l.shared, l.args.data))
	ints := func(at address, n int) []int {
		var list []int
		for _, v := range s.read(at, n) {
			list = append(list, int(int32(math.Float32bits(v))))
		}
		return list
	}
	var from []int
	slots := make([]int, len(ids))
	var offsets, counts []int
	for e := range n {
		offsets = append(offsets, len(from))
		mine := 0
		for i, id := range ids {
			if int(id) == e {
				slots[i] = len(from)
				from = append(from, i/used)
				mine++
			}
		}
		counts = append(counts, mine)
		for len(from)%8 != 0 {
			from = append(from, -1)
		}
	}
	offsets = append(offsets, len(from))
	for what, pair := range map[string][2][]int{
		"counts": {ints(o.counts, n), counts}, "offsets": {ints(o.offsets, n+1), offsets},
		"from": {ints(o.from, len(from)), from}, "slots": {ints(o.slots, len(ids)), slots},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s are %v, want %v", what, pair[0], pair[1])
		}
	}
}

// TestHeadLinear: products by heads, and what is copied behind them.
func TestHeadLinear(t *testing.T) {
	const heads, cols, outs, rest = 3, 64, 20, 5
	for _, c := range []struct {
		format quant.Type
		rows   int
	}{{quant.Q8_0, 1}, {quant.Q8_0, 11}, {quant.F16, 2}, {quant.F16, 19}, {quant.F32, 9}} {
		p := &prog.Program{Vocab: 10, Embd: 8, Context: 64,
			Bufs:    []prog.Buffer{{Name: "in", Width: heads * (cols + rest)}, {Name: "out", Width: heads * (outs + rest)}},
			Weights: []prog.Weight{{Tensor: "w", Rows: outs, Cols: cols, Stack: heads}},
			Ops:     []prog.Op{prog.HeadLinear{In: 0, Out: 1, W: 0}}}
		if c.format == quant.Q8_0 { // rows of the source begin on 16 bytes
			p.Bufs[0].Width, p.Bufs[1].Width = heads*(cols+4), heads*(outs+4)
		}
		s, files := newMatrixStand(t, 5, p, c.rows, map[prog.WeightID]quant.Type{0: c.format})
		in := s.fill(0, 1)
		s.run()
		var want []float64
		inHead, outHead := p.Bufs[0].Width/heads, p.Bufs[1].Width/heads
		for i := 0; i < len(in); i += inHead {
			h := i / inHead % heads
			want = append(want, products(files[0], h*outs, outs, in[i:i+cols], cols)...)
			for _, v := range in[i+cols : i+inHead] {
				want = append(want, float64(v))
			}
		}
		s.near(fmt.Sprintf("%v, %d rows", c.format, c.rows), s.values(1), want, outHead, 1e-5)
	}
}
