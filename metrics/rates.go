package metrics

import "time"

// rateCounts are the counters that rates are shown of.
type rateCounts struct{ requests, prompt, cached, generated uint64 }

// rateWindow remembers a model's counters once a second, to tell the rates over the last ten.
type rateWindow struct {
	n       int
	samples [12]rateSample // the newest n, the oldest first
}

type rateSample struct {
	at time.Duration
	rateCounts
}

const (
	rateOver   = 10 * time.Second
	rateLeast  = time.Second            // a shorter time says nothing
	rateEvery  = 900 * time.Millisecond // a tick is never exactly a second after the one before
	rateWithin = rateOver + time.Second/2
)

// note takes the counters at a tick, unless the newest sample is younger than a second.
func (w *rateWindow) note(now time.Duration, c rateCounts) {
	if w.n > 0 && now-w.samples[w.n-1].at < rateEvery {
		return
	}
	if w.n == len(w.samples) {
		copy(w.samples[:], w.samples[1:])
		w.n--
	}
	w.samples[w.n] = rateSample{now, c}
	w.n++
}

// since returns the sample that rates at now are counted from: the oldest of the last ten seconds that is at least a second old, else
// the newest that is older.
func (w *rateWindow) since(now time.Duration) (best rateSample, ok bool) {
	for i := w.n - 1; i >= 0; i-- {
		s := w.samples[i]
		age := now - s.at
		if age < rateLeast {
			continue
		}
		if ok && age > rateWithin {
			break
		}
		best, ok = s, true
	}
	return best, ok
}

// counts are the model's counters at the newest tick.
func (m *modelRollup) counts(rl *rollupLayout) (c rateCounts) {
	for i := range numCombinations {
		row := rl.row(m.base, i)
		c.requests += rl.requests(row)
		c.prompt += row[rollupTokens]
		c.cached += row[rollupTokens+1]
		c.generated += row[rollupTokens+2]
	}
	return c
}
