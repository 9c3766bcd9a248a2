package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// Random is a random tiny decoder with its weights: a program that uses every
// op and option of the vocabulary as the seed has it, and a source.
type Random struct {
	Prog    *prog.Program
	KV      backend.KVType // of the caches that tests make for it: the seeds go through all
	tensors map[string]backend.Tensor
	rng     *rand.Rand
	formats []quant.Format
	near    *nearness // nil: to the bit
}

// NewRandom makes the model of a seed. Weights take the given formats at
// random (none: all), as far as their inner dimension fits the blocks. The
// same seed and formats make the same model.
func NewRandom(seed uint64, formats ...quant.Type) *Random {
	m := newRandom(seed, formats)
	m.decoder()
	if err := m.Prog.Check(); err != nil {
		panic(err)
	}
	return m
}

// newRandom is a model without a program yet.
func newRandom(seed uint64, formats []quant.Type) *Random {
	m := &Random{
		Prog:    &prog.Program{Arch: fmt.Sprintf("random%d", seed), Context: 2048},
		tensors: map[string]backend.Tensor{},
		rng:     rand.New(rand.NewPCG(seed, 1)),
		KV:      backend.KVTypes()[seed%uint64(len(backend.KVTypes()))],
	}
	for _, f := range quant.Formats() {
		for _, t := range formats {
			if f.Type == t {
				m.formats = append(m.formats, f)
			}
		}
		if len(formats) == 0 {
			m.formats = append(m.formats, f)
		}
	}
	return m
}

// Info implements backend.Source.
func (m *Random) Info(tensor string) (backend.Tensor, error) {
	t, ok := m.tensors[tensor]
	if !ok {
		return t, fmt.Errorf("no tensor %q", tensor)
	}
	t.Data = nil
	return t, nil
}

// Read implements backend.Source.
func (m *Random) Read(tensor string, use func(backend.Tensor) error) error {
	t, ok := m.tensors[tensor]
	if !ok {
		return fmt.Errorf("no tensor %q", tensor)
	}
	return use(t)
}

// Tokens draws n tokens of the vocabulary.
func (m *Random) Tokens(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(m.rng.IntN(m.Prog.Vocab))
	}
	return list
}

func pick[T any](m *Random, of ...T) T { return of[m.rng.IntN(len(of))] }

func (m *Random) chance(percent int) bool { return m.rng.IntN(100) < percent }

func (m *Random) buf(name string, width int, rows prog.RowKind) prog.BufID {
	m.Prog.Bufs = append(m.Prog.Bufs, prog.Buffer{Name: name, Width: width, Rows: rows})
	return prog.BufID(len(m.Prog.Bufs) - 1)
}

func (m *Random) op(o prog.Op) { m.Prog.Ops = append(m.Prog.Ops, o) }

// matrix makes a weight of normal values, now and then as rows in the middle of
// a larger tensor.
func (m *Random) matrix(rows, cols int) prog.WeightID {
	var fit []quant.Format
	for _, f := range m.formats {
		if cols%f.BlockElems == 0 {
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 {
		f, _ := quant.Lookup(quant.F32)
		fit = append(fit, f)
	}
	w := prog.Weight{Kind: prog.Matrix, Rows: rows, Cols: cols}
	all := rows
	if m.chance(20) {
		w.FromRow = 1 + m.rng.IntN(20)
		all += w.FromRow + m.rng.IntN(20)
	}
	return m.weight(w, pick(m, fit...), all, 1/math.Sqrt(float64(cols)), 0)
}

// vector makes a weight of normal values, now and then in the middle of more.
func (m *Random) vector(n int, mean float64) prog.WeightID {
	f, _ := quant.Lookup(pick(m, quant.F32, quant.F32, quant.F16))
	w, all := prog.Weight{Kind: prog.Vector, Rows: 1, Cols: n}, n
	if m.chance(20) {
		w.FromRow = 1 + m.rng.IntN(20)
		all += w.FromRow + m.rng.IntN(20)
	}
	return m.weightOf(w, f, 1, all, 0.2, mean)
}

func (m *Random) weight(w prog.Weight, f quant.Format, rows int, scale, mean float64) prog.WeightID {
	return m.weightOf(w, f, rows, w.Cols, scale, mean)
}

// weightOf makes a weight of a tensor of rows × cols normal values.
func (m *Random) weightOf(w prog.Weight, f quant.Format, rows, cols int, scale, mean float64) prog.WeightID {
	id := prog.WeightID(len(m.Prog.Weights))
	w.Tensor = fmt.Sprintf("w%d.%s", id, f.Name)
	m.Prog.Weights = append(m.Prog.Weights, w)
	row, err := f.RowBytes(cols)
	if err != nil {
		panic(err)
	}
	data := make([]byte, rows*row)
	m.fill(data, f, scale, mean)
	m.tensors[w.Tensor] = backend.Tensor{Name: w.Tensor, Type: f.Type, Rows: rows, Cols: cols, Data: data}
	return id
}

// drawn is how many values of a weight are drawn; encoding is slow in some formats.
const drawn = 1 << 13

// fill draws the first blocks of a weight and repeats them at random for the rest.
func (m *Random) fill(data []byte, f quant.Format, scale, mean float64) {
	blocks := min(len(data)/f.BlockBytes, drawn/f.BlockElems)
	values := make([]float32, blocks*f.BlockElems)
	for i := range values {
		values[i] = float32(m.rng.NormFloat64()*scale + mean)
	}
	first := data[:blocks*f.BlockBytes]
	f.Encode(first, values)
	for rest := data[len(first):]; len(rest) > 0; rest = rest[f.BlockBytes:] {
		copy(rest[:f.BlockBytes], first[m.rng.IntN(blocks)*f.BlockBytes:])
	}
}

func (m *Random) bias(n int) prog.WeightID {
	if m.chance(70) {
		return prog.NoWeight
	}
	return m.vector(n, 0)
}

// decoder writes embed, one to three layers, and the head.
func (m *Random) decoder() {
	p := m.Prog
	p.Vocab = 17 + m.rng.IntN(150)
	p.Embd = m.fit(pick(m, 32, 64, 96, 256, 72, 33))
	x := m.buf("x", p.Embd, prog.TokenRows)
	embd := m.matrix(p.Vocab, p.Embd)
	m.embed(x, embd)
	for range 1 + m.rng.IntN(3) {
		if m.chance(25) {
			m.convolution(x)
		}
		m.layer(x)
	}
	if m.chance(20) {
		m.pooled(x)
		return
	}
	l, h := m.buf("last", p.Embd, prog.LogitRows), m.buf("normed", p.Embd, prog.LogitRows)
	m.op(prog.TakeRows{In: x, Out: l})
	m.norm(l, h, prog.NoBuf)
	head := embd
	if m.chance(50) {
		head = m.matrix(p.Vocab, p.Embd)
	}
	m.op(prog.Head{In: h, W: head, Bias: m.bias(p.Vocab), Scale: pick(m, float32(1), 1, 0.25), Cap: pick(m, float32(0), 0, 3)})
}

// fit is a width that a model of one format can have in that format; with more
// formats to choose from, any will do.
func (m *Random) fit(width int) int {
	if len(m.formats) == 1 && width%m.formats[0].BlockElems != 0 {
		return 256
	}
	return width
}

func (m *Random) norm(in, out, add prog.BufID) {
	width := m.Prog.Bufs[in].Width
	m.op(prog.Norm{In: in, Out: out, Add: add, W: m.vector(width, 1), Bias: m.bias(width),
		Norm: pick(m, prog.RMS, prog.RMS, prog.LayerNorm), Eps: pick(m, float32(1e-5), 1e-6)})
}

func (m *Random) part(in, out prog.BufID) prog.LinearPart {
	rows, cols := m.Prog.Bufs[out].Width, m.Prog.Bufs[in].Width
	return prog.LinearPart{Out: out, W: m.matrix(rows, cols), Bias: m.bias(rows)}
}
