package sample

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// drawWhole samples from the tokens that top-k, min-p and top-p leave, in that
// order; all three look at probabilities after the temperature. It is the
// definition, and sorts the whole row.
func (s *Sampler) drawWhole(row []float32, u float64, sc *Scratch) (int32, error) {
	sc.whole++
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
	if s.p.Temperature == 0 {
		return e[0].id, nil
	}
	top := float64(e[0].logit())
	if math.IsInf(top, 1) { // infinities leave no ratio to draw by: the first of them
		return e[0].id, nil
	}
	p := sc.prob[:len(e)]
	e, p, total, _ := s.weigh(e, p, top)
	if tp := float64(s.p.TopP); tp > 0 && tp < 1 {
		if i := reach(p, float64(tp*total)); i < len(p) {
			e, p, total = e[:i+1], p[:i+1], sum(p[:i+1])
		}
	}
	return e[min(beyond(p, float64(u*total)), len(e)-1)].id, nil
}

// weigh fills p with the probabilities of sorted entries relative to the top one's,
// up to the first below min-p, and adds them. cut tells that there is such a one.
func (s *Sampler) weigh(e []entry, p []float64, top float64) (_ []entry, _ []float64, total float64, cut bool) {
	invT := 1 / float64(s.p.Temperature)
	for i := range e {
		p[i] = num.Exp64(float64((float64(e[i].logit()) - top) * invT))
		if float64(s.p.MinP) > p[i] {
			return e[:i], p[:i], total, true
		}
		total += p[i]
	}
	return e, p[:len(e)], total, false
}

// sum adds in order.
func sum(p []float64) float64 {
	s := 0.0
	for _, x := range p {
		s += x
	}
	return s
}

// reach is the first index up to which p adds to limit or more; len(p): none.
func reach(p []float64, limit float64) int {
	s := 0.0
	for i, x := range p {
		if s += x; s >= limit {
			return i
		}
	}
	return len(p)
}

// beyond is the first index up to which p adds to more than target; len(p): none.
func beyond(p []float64, target float64) int {
	s := 0.0
	for i, x := range p {
		if s += x; s > target {
			return i
		}
	}
	return len(p)
}
