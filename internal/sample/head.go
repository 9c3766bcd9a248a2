package sample

import "github.com/paddock-go/paddock/internal/num"

// The definition sorts a vocabulary and adds all its probabilities, to draw one
// token from among its likeliest few. What decides is the order of those, and the
// total as a yardstick. So the likeliest are found by a histogram of how far
// logits lie below the top one, sorted and added as the definition has it, and the
// rest is only bounded, bucket by bucket:
//
//	 top                                         buckets of 1/64
//	▐█▌  ▐▌▐ ▌▐▌▐▌▐██▌▐████▌▐██████████▌▐█████▌▐██▌
//	└──── head, exact ────┘└──── rest, by number and mean of each bucket ────┘
//
// By the mean, since e^−x is convex: n values of one bucket add to no less than n
// times the exponential at their mean, and to no more than the chord has there.
// Where both bounds lead to one token, so does the total between them, which is the
// definition's. Else the definition runs: seldom, but where a vocabulary is almost flat.
const (
	bucketsPerUnit = 64
	buckets        = 4096    // behind them the last one, for all that is farther
	headMost       = 1 << 15 // entries
	headFew        = 2048    // so many are cheap: only beyond does it count what share is needed
	restMost       = 1e-3    // of the total: a rest so small is left to the bounds
	slack          = 1e-9    // covers the rounding of sums of a million terms, and of Exp64
	blur           = 1e-5    // covers that of a distance, where its exponential counts
)

// head is the memory of draw.
type head [buckets + 1]pile

// pile is what lies in a bucket: how many, and the sum of their distances from the
// top logit in buckets.
type pile struct {
	sum float64
	n   uint32
}

// bucket is where a logit lies that is d below the top one, with its distance.
func bucket(d float32) (int, float32) {
	x := min(float32(d*bucketsPerUnit), buckets)
	return int(x), x
}

// draw is drawWhole for a row whose largest logit is finite. It is linear in the
// vocabulary, and sorts and weighs the likeliest only.
func (s *Sampler) draw(row []float32, top float32, u float64, sc *Scratch) (int32, error) {
	clear(sc.head[:])
	for _, x := range row {
		b, d := bucket(top - x)
		h := &sc.head[b]
		h.n++
		h.sum += float64(d)
	}
	last, lo, hi := s.split(&sc.head, u)
	if last < 0 {
		return s.drawWhole(row, u, sc)
	}
	e := sc.a[:0]
	// Nothing of the head is less than this, whatever was rounded; most of the rest is.
	least := top - float32(last+2)/bucketsPerUnit
	for i, x := range row {
		if x >= least {
			if b, _ := bucket(top - x); b <= last {
				e = append(e, entry{descending(x), int32(i)})
			}
		}
	}
	e = sortEntries(e, sc.b[:len(e)], &sc.count)
	if id, ok := s.decide(e, float64(top), lo, hi, u, sc); ok {
		return id, nil
	}
	return s.drawWhole(row, u, sc)
}

// decide draws from a sorted head whose rest adds to something from lo to hi, if all of
// that leads to one token.
func (s *Sampler) decide(e []entry, top, lo, hi, u float64, sc *Scratch) (id int32, ok bool) {
	if k := s.p.TopK; k > 0 && k <= len(e) {
		e, lo, hi = e[:k], 0, 0
	}
	e, p, total, cut := s.weigh(e, sc.prob, top)
	if cut {
		lo, hi = 0, 0
	}
	low, high := total, total
	if hi > 0 {
		low, high = (total+lo)*(1-slack), (total+hi)*(1+slack)
	}
	if tp := float64(s.p.TopP); tp > 0 && tp < 1 {
		i := reach(p, float64(tp*low))
		if low < high && i != reach(p, float64(tp*high)) || i == len(p) && hi > 0 {
			return 0, false
		}
		if i < len(p) {
			e, p = e[:i+1], p[:i+1]
			low = sum(p)
			high = low
		}
	}
	i := beyond(p, float64(u*low))
	if low < high && (i == len(p) || i != beyond(p, float64(u*high))) {
		return 0, false
	}
	return e[min(i, len(e)-1)].id, true
}

// split chooses the head: its last bucket, and bounds of what the probabilities of
// the rest add to, both 0 where none of it can be drawn. last is −1 where the first
// bucket is too long already.
func (s *Sampler) split(h *head, u float64) (last int, lo, hi float64) {
	perBucket := 1 / (float64(s.p.Temperature) * bucketsPerUnit)
	step := num.Exp64(-perBucket)
	total, far := 0.0, 1.0 // e^−b/64T
	for i := range h[:buckets] {
		total += float64(h[i].n) * far
		far *= step
	}
	farther := float64(h[buckets].n) * far
	need := u // the share of the total that has to be in the head
	if tp := float64(s.p.TopP); tp > 0 && tp < 1 {
		need = tp
	}
	sum, entries := 0.0, 0
	far = 1
	for last = range buckets {
		if entries += int(h[last].n); entries > headMost {
			last--
			break
		}
		sum += float64(h[last].n) * far
		if far *= step; float64(s.p.MinP) > far*(1+10*blur) {
			return last, 0, 0
		}
		if k := s.p.TopK; k > 0 && entries >= k {
			break
		}
		rest := total + farther - sum
		if rest < restMost*total || entries >= headFew && sum*step > need*(total+farther) {
			break
		}
	}
	hi = farther
	for b := last + 1; b < buckets; b++ {
		switch n := float64(h[b].n); {
		case n == 0:
		case far < slack*slack: // too little to look at closely
			hi += n * far
		default:
			mean := h[b].sum/n - float64(b)
			lo += n * far * num.Exp64(-mean*perBucket)
			hi += n * far * (1 - mean*(1-step))
		}
		far *= step
	}
	if s.p.TopK > 0 || s.p.MinP > 0 { // part of the rest may be left out
		lo = 0
	}
	return last, lo * (1 - blur), hi * (1 + blur)
}
