package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/session"
)

// row is one figure.
type row struct {
	Test     string  `json:"test"`
	Rate     float64 `json:"tok_per_s"`
	Threads  int     `json:"threads"`
	Backend  string  `json:"backend"`
	Checksum string  `json:"checksum"`             // over the bits of the last step's logits
	Bytes    int64   `json:"step_bytes,omitempty"` // the least that a step of the generation must read, in the middle of it
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
	level, err := findLevel(c.level)
	if err != nil {
		return err
	}
	dev := cpu.New(cpu.Options{Threads: c.threads, Level: level})
	defer dev.Close()
	tasks := c.tasks()
	seqs, context := 1, 1
	for _, t := range tasks {
		seqs, context = max(seqs, t.batch), max(context, t.context())
	}
	s, err := session.Open(c.model, dev, session.Limits{Seqs: seqs, Context: context, Rows: max(chunk, seqs), Logits: seqs, KVType: c.kvType}, nil)
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
	for _, t := range tasks {
		rate, err := b.time(t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		r := row{Test: t.String(), Rate: rate, Threads: dev.Threads(), Backend: dev.Name(), Checksum: fmt.Sprintf("%016x", b.sum)}
		if t.kind == generating {
			r.Bytes = s.StepBytes(t.batch, t.depth+t.tokens/2)
		}
		if err := report(r); err != nil {
			return err
		}
	}
	return nil
}

// findLevel is the level of a name; nil for no name: the best.
func findLevel(name string) (*kern.Level, error) {
	if name == "" {
		return nil, nil
	}
	var names []string
	for _, l := range kern.Supported() {
		if l.String() == name {
			return &l, nil
		}
		names = append(names, l.String())
	}
	return nil, fmt.Errorf("-level is %q; this machine and build have %s", name, strings.Join(names, ", "))
}

// time returns the median rate of the repetitions after one that is not counted.
// What lies before a task in the cache is computed once: the task only writes behind.
func (b *bench) time(t task) (float64, error) {
	if err := b.prefill(t.batch, 0, t.depth); err != nil {
		return 0, err
	}
	var rates []float64
	for i := range b.c.repeat + 1 {
		start := time.Now()
		var err error
		if t.kind == prompting {
			err = b.prefill(1, t.depth, t.tokens)
		} else {
			err = b.decode(t)
		}
		if err != nil {
			return 0, err
		}
		if i > 0 {
			rates = append(rates, float64(t.batch*t.tokens)/time.Since(start).Seconds())
		}
	}
	return spreadOf(rates).Median, nil
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
func (b *bench) decode(t task) error {
	for pos := t.depth; pos < t.depth+t.tokens; pos++ {
		b.spans = b.spans[:0]
		for seq := range t.batch {
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
