package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/session"
)

// row is one figure.
type row struct {
	Test     string  `json:"test"`
	Rate     float64 `json:"tok_per_s"`
	Threads  int     `json:"threads"`
	Backend  string  `json:"backend"`
	Checksum string  `json:"checksum"` // over the bits of the last step's logits
}

func (r row) String() string {
	return fmt.Sprintf("%-14s %10.2f tok/s  %d threads  %s  %s", r.Test, r.Rate, r.Threads, r.Backend, r.Checksum)
}

// chunk is the most rows of a step, as llama-bench's micro-batch.
const chunk = 512

// bench is a session with the tokens that it runs over.
type bench struct {
	c      *config
	s      *session.Session
	tokens []int32 // one for each position of a context
	spans  []session.Span
	sum    uint64
}

// measure runs all tests that c asks for.
func measure(c *config, report func(row) error) error {
	dev := cpu.New(cpu.Options{Threads: c.threads})
	defer dev.Close()
	seqs := slices.Max(c.batches)
	context := slices.Max(c.depths) + max(c.prompt, c.generate, 1)
	s, err := session.Open(c.model, dev, session.Limits{Seqs: seqs, Context: context, Rows: max(chunk, seqs), Logits: seqs}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	b := &bench{c: c, s: s, tokens: make([]int32, context)}
	x := uint32(1)
	for i := range b.tokens {
		x = x*1664525 + 1013904223
		b.tokens[i] = int32(uint64(x) * uint64(s.Vocab()) >> 32)
	}
	emit := func(test string, tokens int, setup, work func() error) error {
		rate, err := b.time(tokens, setup, work)
		if err != nil {
			return fmt.Errorf("%s: %w", test, err)
		}
		return report(row{test, rate, dev.Threads(), dev.Name(), fmt.Sprintf("%016x", b.sum)})
	}
	for _, depth := range c.depths {
		at := ""
		if depth > 0 {
			at = fmt.Sprintf("@d%d", depth)
		}
		before := func() error { return b.prefill(1, 0, depth) }
		if c.prompt > 0 {
			if err := emit(fmt.Sprintf("pp%d%s", c.prompt, at), c.prompt, before,
				func() error { return b.prefill(1, depth, c.prompt) }); err != nil {
				return err
			}
		}
		if c.generate == 0 {
			continue
		}
		for _, n := range c.batches {
			name := fmt.Sprintf("tg%d%s", c.generate, at)
			if n > 1 {
				name = fmt.Sprintf("b%d%s", n, at)
			}
			if err := emit(name, n*c.generate, func() error { return b.prefill(n, 0, depth) },
				func() error { return b.decode(n, depth) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// time returns the median rate of the repetitions after one that is not counted.
func (b *bench) time(tokens int, setup, work func() error) (float64, error) {
	var rates []float64
	for i := range b.c.repeat + 1 {
		if err := setup(); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		if i > 0 {
			rates = append(rates, float64(tokens)/time.Since(start).Seconds())
		}
	}
	slices.Sort(rates)
	return rates[len(rates)/2], nil
}

// prefill computes n tokens from position from of each sequence, in chunks.
func (b *bench) prefill(seqs, from, n int) error {
	for seq := range seqs {
		for at := from; at < from+n; at += chunk {
			if err := b.step(session.Span{Seq: seq, From: at, Tokens: b.tokens[at:min(at+chunk, from+n)]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode makes every sequence longer, a token a step.
func (b *bench) decode(seqs, depth int) error {
	for pos := depth; pos < depth+b.c.generate; pos++ {
		b.spans = b.spans[:0]
		for seq := range seqs {
			b.spans = append(b.spans, session.Span{Seq: seq, From: pos, Tokens: b.tokens[pos : pos+1]})
		}
		if err := b.step(b.spans...); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) step(spans ...session.Span) error {
	logits, err := b.s.Step(spans...)
	h := fnv.New64a()
	for _, x := range logits[:min(len(logits), b.s.Vocab())] {
		u := math.Float32bits(x)
		h.Write([]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)})
	}
	b.sum = h.Sum64()
	return err
}
