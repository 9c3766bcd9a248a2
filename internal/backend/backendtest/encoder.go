package backendtest

import (
	"fmt"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// NewRandomEncoder is NewRandom for an atomic program: rows see both ways, and
// what comes out is a pooled row, perhaps behind a classifier.
func NewRandomEncoder(seed uint64, formats ...quant.Type) *Random {
	m := newRandom(seed, formats)
	m.Prog.Atomic = true
	p := m.Prog
	p.Vocab = 17 + m.rng.IntN(150)
	p.Embd = m.fit(pick(m, 32, 64, 96, 256, 72, 33))
	x := m.buf("x", p.Embd, prog.TokenRows)
	m.embed(x, m.matrix(p.Vocab, p.Embd))
	for range 1 + m.rng.IntN(3) {
		m.layer(x)
	}
	m.pooled(x)
	if err := p.Check(); err != nil {
		panic(err)
	}
	return m
}

// embed looks the tokens up, with rows of positions and of a token type or without.
func (m *Random) embed(x prog.BufID, w prog.WeightID) {
	p := m.Prog
	e := prog.Embed{Out: x, W: w, Scale: pick(m, float32(1), 1, 3.7), Pos: prog.NoWeight, Type: prog.NoWeight}
	if m.chance(30) { // many rows: in a format that is made quickly
		f, _ := quant.Lookup(pick(m, quant.F32, quant.F16))
		e.Pos = m.weight(prog.Weight{Kind: prog.Matrix, Rows: p.Context, Cols: p.Embd}, f, p.Context, 0.5, 0)
	}
	if m.chance(30) {
		e.Type = m.vector(p.Embd, 0)
	}
	m.op(e)
}

// convolution adds a short convolution to the stream x.
func (m *Random) convolution(x prog.BufID) {
	p := m.Prog
	width, taps := m.fit(pick(m, 16, 40, 64)), 1+m.rng.IntN(5)
	b, c, y := m.buf("b", width, prog.TokenRows), m.buf("c", width, prog.TokenRows), m.buf("y", width, prog.TokenRows)
	out, s := pick(m, c, m.buf("conv", width, prog.TokenRows)), m.buf("s", p.Embd, prog.TokenRows)
	m.op(prog.Linear{In: x, Parts: []prog.LinearPart{m.part(x, b), m.part(x, c), m.part(x, y)}})
	f, _ := quant.Lookup(quant.F32)
	w := m.weight(prog.Weight{Kind: prog.Matrix, Rows: width, Cols: taps}, f, width, 0.5, 0)
	m.op(prog.ShortConv{B: b, C: c, X: y, Out: out, W: w, Taps: taps, KV: len(p.KV)})
	p.KV = append(p.KV, prog.StateLayer(width))
	m.op(prog.Linear{In: out, Parts: []prog.LinearPart{m.part(out, s)}})
	m.op(prog.AddTo{Dst: x, Src: s, Scale: 1})
}

// pooled ends the program in pooled rows, sometimes behind a product.
func (m *Random) pooled(x prog.BufID) {
	p := m.Prog
	h, o := m.buf("normed", p.Embd, prog.TokenRows), m.buf("pooled", p.Embd, prog.LogitRows)
	m.norm(x, h, prog.NoBuf)
	pool := prog.Pool{In: h, Out: o, Pool: pick(m, prog.PoolMean, prog.PoolLast), KV: -1}
	switch {
	case p.Atomic:
		pool.Pool = pick(m, prog.PoolMean, prog.PoolCLS, prog.PoolLast)
	case pool.Pool == prog.PoolMean:
		pool.KV = len(p.KV)
		p.KV = append(p.KV, prog.StateLayer(p.Embd))
	}
	m.op(pool)
	if m.chance(40) {
		class := m.buf("class", 1+m.rng.IntN(40), prog.LogitRows)
		m.op(prog.Linear{In: o, Parts: []prog.LinearPart{m.part(o, class)}})
		if o = class; m.chance(50) {
			m.op(prog.Activate{In: o, Out: o, Act: prog.Tanh})
		}
	}
	m.op(prog.Output{In: o})
}

// RunEncoders demands that devices give the same bits as another on random
// encoders, whoever shares the batch.
func RunEncoders(t *testing.T, want backend.Device, poison func(backend.Runner), got ...backend.Device) {
	for seed := range uint64(5) {
		m := NewRandomEncoder(seed)
		texts := [][]int32{m.Tokens(1), m.Tokens(2), m.Tokens(33), m.Tokens(50 + m.rng.IntN(100))}
		if seed == 4 && !testing.Short() {
			texts[1] = m.Tokens(530) // over the bound of a span of keys, 512
		}
		company(t, m, want, poison, texts, got...)
	}
}

// company demands the same bits of whole sequences, alone on one device and on
// others in random company, over pages of any order that others have used.
func company(t *testing.T, m *Random, want backend.Device, poison func(backend.Runner), texts [][]int32, got ...backend.Device) {
	l := m.limits(pick(m, 16, 32, 64))
	l.Rows, l.Context = 700, min(600, m.Prog.Context)
	var expect [][]float32
	s := open(t, m, want, l, nil, nil)
	for _, text := range texts {
		expect = append(expect, s.Step(Part{&Seq{}, text, true})...)
	}
	for _, d := range got {
		s := open(t, m, d, l, m.order(l), poison)
		for step := range 4 {
			var parts []Part
			var rows [][]float32
			total := 0
			for _, i := range m.rng.Perm(len(texts)) {
				if total += len(texts[i]); total > l.Rows || m.chance(30) {
					continue
				}
				parts = append(parts, Part{&Seq{}, texts[i], true})
				rows = append(rows, expect[i])
			}
			if len(parts) == 0 {
				continue
			}
			same(t, fmt.Sprintf("%s, %s, step %d", d.Name(), m.Prog.Arch, step), rows, s.Step(parts...))
			for _, p := range parts {
				s.Free(p.Seq)
			}
		}
		if t.Failed() {
			t.Fatalf("the program:\n%v", m.Prog)
		}
	}
}
