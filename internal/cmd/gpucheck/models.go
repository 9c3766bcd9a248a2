package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model/synth"
	"github.com/paddock-go/paddock/internal/session"
)

// modelFile makes up a model in memory.
func modelFile(shape, typ string) ([]byte, error) {
	var b bytes.Buffer
	if err := synth.Write(&b, shape, typ, 1); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// openModel opens a model of a file in memory on a device.
func openModel(file []byte, d backend.Device, l session.Limits) (*session.Session, error) {
	f, err := gguf.Parse(file)
	if err != nil {
		return nil, err
	}
	s, err := session.OpenFile(f, d, l, nil)
	return s, errors.Join(err, f.Close())
}

// tokens are n of a sequence that any run has alike.
func tokens(seq, n, vocab int) []int32 {
	out := make([]int32, n)
	x := uint32(seq + 1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = int32(uint64(x) * uint64(vocab) >> 32)
	}
	return out
}

// script is what sequences do with a model: the same steps on any device.
type script struct {
	prompts []int // lengths, one after the other in sequence 0
	decode  int   // steps of all three sequences together, after prompts of their own
	split   int   // length of a prompt that comes in two steps
	kv      backend.KVType
}

// context is the longest that a script makes a sequence.
func (p *script) context() int {
	most := p.split
	for _, n := range p.prompts {
		most = max(most, n)
	}
	return max(most, ragged[len(ragged)-1]+p.decode)
}

// ragged are the lengths of the prompts that decode together.
var ragged = [...]int{2, 5, 19}

func (p *script) limits() session.Limits {
	return session.Limits{Seqs: len(ragged), Context: p.context(), Rows: max(64, p.context()), Logits: len(ragged), KVType: p.kv}
}

// play runs the script and hands each step's logits to see, with the name of the step.
func (p *script) play(s *session.Session, see func(step string, logits []float32)) error {
	step := func(name string, spans ...session.Span) error {
		out, err := s.Step(spans...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		see(name, out)
		return nil
	}
	v := s.Vocab()
	for i, n := range p.prompts {
		if err := step(fmt.Sprintf("prompt of %d", n), session.Span{Tokens: tokens(i, n, v)}); err != nil {
			return err
		}
	}
	if s.Atomic() { // a sequence is one step
		return nil
	}
	if p.split > 1 {
		all, half := tokens(9, p.split, v), p.split/2
		if err := step("first half of a prompt", session.Span{Tokens: all[:half]}); err != nil {
			return err
		}
		if err := step("second half of a prompt", session.Span{From: half, Tokens: all[half:]}); err != nil {
			return err
		}
	}
	var spans []session.Span
	for seq, n := range ragged {
		spans = append(spans, session.Span{Seq: seq, Tokens: tokens(20+seq, n, v)})
	}
	if p.decode == 0 {
		return nil
	}
	if err := step("three prompts in one step", spans...); err != nil {
		return err
	}
	for i := range p.decode {
		for seq, n := range ragged {
			spans[seq] = session.Span{Seq: seq, From: n + i, Tokens: tokens(100*i+seq, 1, v)}
		}
		if err := step(fmt.Sprintf("token %d of three sequences", i+1), spans...); err != nil {
			return err
		}
	}
	return nil
}

// record keeps all logits of a run.
type record struct {
	names  []string
	logits [][]float32
}

func (r *record) see(name string, logits []float32) {
	r.names = append(r.names, name)
	r.logits = append(r.logits, append([]float32(nil), logits...))
}

// difference is how far two runs are apart, as a share of the largest logit of a step:
// in the step where that is most, and where it is least.
type difference struct {
	most, least float64
	step        string // that differs most
}

func (r *record) compare(o *record) difference {
	d := difference{least: math.Inf(1)}
	for i := range r.logits {
		size, off := 0.0, 0.0
		for j, want := range r.logits[i] {
			x := math.Abs(float64(o.logits[i][j]) - float64(want))
			if x != x {
				x = math.Inf(1)
			}
			size, off = max(size, math.Abs(float64(want))), max(off, x)
		}
		share := off / size
		if size == 0 {
			share = math.Inf(1) // a model that says nothing shows nothing
		}
		if share >= d.most {
			d.most, d.step = share, r.names[i]
		}
		d.least = min(d.least, share)
	}
	return d
}

// same tells whether two runs have the same bits.
func (r *record) same(o *record) bool {
	for i := range r.logits {
		for j, v := range r.logits[i] {
			if math.Float32bits(v) != math.Float32bits(o.logits[i][j]) {
				return false
			}
		}
	}
	return true
}
