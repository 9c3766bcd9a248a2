// Package backendtest holds what every backend is held against: the reference
// backend on random programs, the law that batches change no bit, and the
// golden data of independent engines. Only tests import it.
package backendtest

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// Session drives sequences through a runner, as the engine does but with no
// scheduler: each sequence has its own pages, handed out by a fixed order.
type Session struct {
	tb     testing.TB
	prog   *prog.Program
	limits backend.Limits
	runner backend.Runner
	free   []int32 // pages not yet handed out
	batch  prog.Batch
}

// Seq is one sequence of a session.
type Seq struct {
	pages []int32
	known int // tokens computed so far
}

// Part is what one step computes of a sequence: its next tokens, and whether
// the last of them wants logits.
type Part struct {
	Seq    *Seq
	Tokens []int32
	Logits bool
}

// NewSession makes a runner for the limits; pages are handed out from the
// front of order, which holds each page once (nil: in order). The runner is
// closed when the test ends.
func NewSession(tb testing.TB, p *prog.Program, m backend.Model, l backend.Limits, order []int32) *Session {
	tb.Helper()
	r, err := m.NewRunner(l)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	s := &Session{tb: tb, prog: p, limits: l, runner: r, free: order}
	if order == nil {
		for i := range l.Pages {
			s.free = append(s.free, int32(i))
		}
	}
	return s
}

// Runner is the runner underneath.
func (s *Session) Runner() backend.Runner { return s.runner }

// Step runs the parts as one batch and returns the logits of those that want
// them, in order.
func (s *Session) Step(parts ...Part) [][]float32 {
	s.tb.Helper()
	s.Fill(parts...)
	width := s.prog.OutWidth()
	logits := make([]float32, len(s.batch.Logits)*width)
	if err := s.runner.Run(&s.batch, logits); err != nil {
		s.tb.Fatal(err)
	}
	var rows [][]float32
	for i := range s.batch.Logits {
		rows = append(rows, logits[i*width:(i+1)*width])
	}
	return rows
}

// Fill makes the batch of a step, without running it, and counts its tokens
// as computed.
func (s *Session) Fill(parts ...Part) *prog.Batch {
	b := &s.batch
	b.Reset()
	size := s.limits.PageSize
	b.Stride = (s.limits.Context + size - 1) / size
	b.SeqStart = append(b.SeqStart, 0)
	for _, p := range parts {
		for range p.Tokens {
			if p.Seq.known == len(p.Seq.pages)*size {
				p.Seq.pages = append(p.Seq.pages, s.free[0])
				s.free = s.free[1:]
			}
			pos := p.Seq.known
			b.Pos = append(b.Pos, int32(pos))
			b.Slots = append(b.Slots, p.Seq.pages[pos/size]*int32(size)+int32(pos%size))
			p.Seq.known++
		}
		b.Tokens = append(b.Tokens, p.Tokens...)
		b.SeqStart = append(b.SeqStart, int32(len(b.Tokens)))
		b.CtxLen = append(b.CtxLen, int32(p.Seq.known))
		b.Tables = append(b.Tables, p.Seq.pages...)
		for len(b.Tables)%b.Stride != 0 {
			b.Tables = append(b.Tables, -1) // must not be looked at
		}
		if p.Logits {
			b.Logits = append(b.Logits, int32(len(b.Tokens)-1))
		}
	}
	return b
}

// Free gives a sequence's pages back, to be handed out last.
func (s *Session) Free(q *Seq) {
	s.free = append(s.free, q.pages...)
	*q = Seq{}
}

// Fork returns a sequence that goes on from where q stands, on copies of its
// pages.
func (s *Session) Fork(q *Seq) *Seq {
	f := &Seq{known: q.known}
	var copies []backend.PageCopy
	for i, from := range q.pages {
		f.pages = append(f.pages, s.free[i])
		copies = append(copies, backend.PageCopy{From: from, To: s.free[i]})
	}
	s.free = s.free[len(q.pages):]
	s.runner.CopyPages(copies)
	return f
}

// Argmax is the greedy choice: the largest logit, the lowest id of equals.
func Argmax(logits []float32) int32 {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return int32(best)
}
