package main

import (
	"errors"
	"time"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/session"
)

// timed runs steps of a model.
type timed struct {
	k *checker
	s *session.Session
	w workload
}

// stepTime is what a step takes: seconds on the clock and on the card, and calls of
// the driver.
type stepTime struct {
	wall, busy, calls float64
	nodes             int // kernels of the graph that was captured for such steps
}

// metered has steps measured by the meter, in which the clock counts for nothing.
func (t *timed) metered(steps func() error) (out stepTime, err error) {
	m := t.k.meter
	if err := t.k.onThread(m.start); err != nil {
		return out, err
	}
	err = steps()
	err = errors.Join(err, t.k.onThread(m.stop))
	return stepTime{busy: m.busy / 1e3 / float64(max(m.steps, 1)), calls: m.perStep()}, err
}

// decode makes so many sequences longer, a token a step, and times the second half of
// the steps on the clock alone, then again with the card's events.
func (t *timed) decode(streams int) (stepTime, error) {
	v := t.s.Vocab()
	for seq := range streams {
		if _, err := t.s.Step(session.Span{Seq: seq, Tokens: tokens(seq, t.w.depth, v)}); err != nil {
			return stepTime{}, err
		}
	}
	spans := make([]session.Span, streams)
	at := t.w.depth
	run := func(n int) error {
		for range n {
			for seq := range spans {
				spans[seq] = session.Span{Seq: seq, From: at, Tokens: tokens(seq+at, 1, v)}
			}
			if _, err := t.s.Step(spans...); err != nil {
				return err
			}
			at++
		}
		return nil
	}
	nodes, err := t.nodes(func() error { return run(t.w.decode / 2) }) // buckets warm up
	if err != nil {
		return stepTime{}, err
	}
	n := t.w.decode - t.w.decode/2
	began := time.Now()
	if err := run(n); err != nil {
		return stepTime{}, err
	}
	wall := time.Since(began).Seconds() / float64(n)
	out, err := t.metered(func() error { return run(n) })
	out.wall, out.nodes = wall, nodes
	return out, err
}

// nodes counts the kernels of the last graph that steps capture.
func (t *timed) nodes(steps func() error) (int, error) {
	m := t.k.meter
	m.captured = 0
	err := steps()
	return m.captured, err
}

// pairs measures steps of two tokens of one sequence, which are no decode steps and are
// launched kernel by kernel.
func (t *timed) pairs() (stepTime, error) {
	two := func() error {
		_, err := t.s.Step(session.Span{Tokens: tokens(2, 2, t.s.Vocab())})
		return err
	}
	if err := two(); err != nil {
		return stepTime{}, err
	}
	return t.metered(two)
}

// prefill computes a prompt.
func (t *timed) prefill() error {
	_, err := t.s.Step(session.Span{Tokens: tokens(1, t.w.prompt, t.s.Vocab())})
	return err
}

// products is how many weights a token of a prompt is multiplied by: those of the
// linear ops. Attention and the head, of which a prompt has one row, are left out, so
// that a share that is made of it is a little low.
func products(f *gguf.File) (float64, error) {
	m, err := model.Lower(f, model.Options{Context: 512})
	if err != nil {
		return 0, err
	}
	n := 0.0
	for _, op := range m.Program.Ops {
		if l, ok := op.(prog.Linear); ok {
			for _, part := range l.Parts {
				w := m.Program.Weights[part.W]
				n += float64(w.Rows) * float64(w.Cols)
			}
		}
	}
	return n, nil
}
