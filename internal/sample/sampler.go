package sample

import (
	"errors"
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/num"
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
	for i, x := range logits {
		if x != x {
			return 0, fmt.Errorf("%w (token %d of %d at position %d)", ErrNaN, i, len(logits), pos)
		}
	}
	row := s.adjust(logits, generated, sc)
	if s.p.Temperature == 0 {
		return argmax(row)
	}
	return s.draw(row, uniform(s.p.Seed, s.p.Choice, pos), sc)
}

// adjust applies bias, penalties and the minimum length, in that order.
func (s *Sampler) adjust(logits []float32, generated int, sc *Scratch) []float32 {
	mask := generated < s.p.MinTokens && len(s.p.Ends) > 0
	if len(s.p.Bias) == 0 && s.output == nil && !mask {
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
	if mask {
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

// argmax is the largest logit, the lowest id among equals.
func argmax(row []float32) (int32, error) {
	best, at := float32(math.Inf(-1)), -1
	for i, x := range row {
		if x > best {
			best, at = x, i
		}
	}
	if at < 0 {
		return 0, ErrNoToken
	}
	return int32(at), nil
}

// draw samples from the tokens that top-k, min-p and top-p leave, in that
// order; all three look at probabilities after the temperature.
func (s *Sampler) draw(row []float32, u float64, sc *Scratch) (int32, error) {
	n := 0
	for i, x := range row {
		if !math.IsInf(float64(x), -1) {
			sc.a[n] = entry{descending(x), int32(i)}
			n++
		}
	}
	if n == 0 {
		return 0, ErrNoToken
	}
	e := sortEntries(sc.a[:n], sc.b[:n], &sc.count)
	if k := s.p.TopK; k > 0 && k < len(e) {
		e = e[:k]
	}
	top, invT := float64(e[0].logit()), 1/float64(s.p.Temperature)
	if math.IsInf(top, 1) { // infinities leave no ratio to draw by: the first of them
		return e[0].id, nil
	}
	p := sc.prob[:len(e)]
	total := 0.0
	for i := range e {
		p[i] = num.Exp64(float64((float64(e[i].logit()) - top) * invT)) // relative to the likeliest
		if float64(s.p.MinP) > p[i] {
			e, p = e[:i], p[:i]
			break
		}
		total += p[i]
	}
	if tp := float64(s.p.TopP); tp > 0 && tp < 1 {
		limit, sum := float64(tp*total), 0.0
		for i := range p {
			if sum += p[i]; sum >= limit {
				e, p, total = e[:i+1], p[:i+1], sum
				break
			}
		}
	}
	target, sum := float64(u*total), 0.0
	for i := range p {
		if sum += p[i]; sum > target {
			return e[i].id, nil
		}
	}
	return e[len(e)-1].id, nil
}
