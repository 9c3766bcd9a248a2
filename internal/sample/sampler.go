package sample

import (
	"errors"
	"fmt"
	"math"
)

// ErrNaN is returned for a row of logits that holds a NaN: the request can't go
// on, and no token would be right.
var ErrNaN = errors.New("sample: a logit is NaN")

// ErrNoToken is returned when every token of the vocabulary is excluded.
var ErrNoToken = errors.New("sample: every token is excluded")

// Alternative is a token with its natural log probability.
type Alternative struct {
	Token   int32
	Logprob float32
}

// Scratch is working memory for one goroutine, shared by any number of
// samplers of one vocabulary.
type Scratch struct {
	row   []float32 // the logits after bias and penalties
	a, b  []entry
	prob  []float64
	count [3][digits]uint32
	head  head
	whole int // how many draws and logprobs the bounds left undecided
}

// NewScratch makes working memory for a vocabulary of n tokens.
func NewScratch(n int) *Scratch {
	return &Scratch{row: make([]float32, n), a: make([]entry, n), b: make([]entry, n), prob: make([]float64, n)}
}

// Sampler is the state of one choice: its parameters and the tokens so far. One
// goroutine uses it at a time.
type Sampler struct {
	p       Params
	prompt  Prompt
	output  map[int32]int // token → times generated, only where a penalty asks
	touched []int32       // keys of output in the order they first came
}

// Prompt is the tokens of a prompt, as the samplers of all its choices see them:
// only where a repetition penalty asks, else nil. It is only read.
type Prompt map[int32]bool

// See looks at a prompt once for all choices that are sampled with p.
func See(p Params, prompt []int32) Prompt {
	if !p.repeats() {
		return nil
	}
	seen := make(Prompt)
	for _, t := range prompt {
		seen[t] = true
	}
	return seen
}

// New makes the sampler of one choice. Of p it keeps the slices, which must not
// change.
func New(p Params, prompt Prompt) *Sampler {
	s := &Sampler{p: p, prompt: prompt}
	if p.penalised() {
		s.output = make(map[int32]int)
	}
	return s
}

// Accept adds a generated token to the history.
func (s *Sampler) Accept(token int32) {
	if s.output == nil {
		return
	}
	if s.output[token] == 0 {
		s.touched = append(s.touched, token)
	}
	s.output[token]++
}

// Next draws the token at absolute position pos, the generated-th of its choice
// (from 0), from a row of logits, which it leaves as it is. It allocates nothing.
func (s *Sampler) Next(logits []float32, pos, generated int, sc *Scratch) (int32, error) {
	top, at, nan := largest(logits)
	if nan {
		return 0, fmt.Errorf("%w (token %d of %d at position %d)", ErrNaN, at, len(logits), pos)
	}
	row := s.adjust(logits, generated, sc)
	if &row[0] != &logits[0] {
		if top, at, nan = largest(row); nan { // an infinity and its opposite as bias
			return s.drawWhole(row, uniform(s.p.Seed, s.p.Choice, pos), sc)
		}
	}
	switch {
	case at < 0:
		return 0, ErrNoToken
	case s.p.Temperature == 0, math.IsInf(float64(top), 1): // infinities leave no ratio to draw by: the first of them
		return int32(at), nil
	}
	return s.draw(row, top, uniform(s.p.Seed, s.p.Choice, pos), sc)
}

// adjust applies bias, penalties and the minimum length, in that order.
func (s *Sampler) adjust(logits []float32, generated int, sc *Scratch) []float32 {
	if s.Plain(generated) {
		return logits
	}
	row := sc.row[:copy(sc.row, logits)]
	for _, b := range s.p.Bias {
		row[b.Token] += b.Amount
	}
	if s.p.repeats() {
		for t := range s.prompt { // order does not matter: each token is touched once
			if s.output[t] == 0 {
				row[t] = repeated(row[t], s.p.Repetition)
			}
		}
		for _, t := range s.touched {
			row[t] = repeated(row[t], s.p.Repetition)
		}
	}
	if s.p.Presence != 0 || s.p.Frequency != 0 {
		for _, t := range s.touched {
			row[t] -= s.p.Presence
			row[t] -= float32(s.p.Frequency * float32(s.output[t]))
		}
	}
	if s.masks(generated) {
		for _, t := range s.p.Ends {
			row[t] = float32(math.Inf(-1))
		}
	}
	return row
}

func repeated(x, penalty float32) float32 {
	if x > 0 {
		return x / penalty
	}
	return float32(x * penalty)
}

// largest is the largest logit and its token, the lowest id among equals, −1 where
// all are −∞; or the first NaN. One comparison finds either.
func largest(row []float32) (top float32, at int, nan bool) {
	top, at = float32(math.Inf(-1)), -1
	for i, x := range row {
		if !(x <= top) {
			if top, at = x, i; x != x {
				return x, i, true
			}
		}
	}
	return top, at, false
}
