package metrics

import (
	"slices"
	"time"
)

// rollups are a recorder's numbers over time. Nothing is pushed to them: each tick takes the difference between what the models have
// counted and what they had counted at the tick before, and adds it to the slots that were open since. So the slots add up to the
// counters, whatever happens between ticks. A question ticks, too, so that its answer includes the slot in progress up to now.
//
//	counters   ──●────────●────────●──►        ● tick: once a second, at each question, when a model opens or closes
//	             │   Δ    │   Δ    │
//	slots      ──┴────────┴────────┴──►        of 10 s, 1 min, 1 h
//
// Time here is the time of day as it was when the first model was opened, carried on by the recorder's monotonic clock: a clock that is
// set while the process runs, or stands still while the machine sleeps, neither tears a hole nor puts two slots in one. Answers show it
// moved by whole slots of 10 s to where the time of day is now.
//
// Memory: a slot of one (operation, origin, model) takes 8 bytes for each bucket of the three gen_ai_server_* histograms and 10 words
// besides (55 words on the default ladder: 440 bytes), a slot of an engine 72. There are at most 3,966 of each: a series that is used in
// every slot takes 1.75 MB after 90 days, and a model of which all 15 operations and origins are, 26.5 MB; see maxRollupBytes. Series and
// slots in which nothing happens take nothing.
type rollups struct {
	layout   *rollupLayout
	epoch    uint64        // time of day when the recorder's clock was 0, in nanoseconds since 1970
	shift    time.Duration // how far the time of day has been set since, in whole slots of 10 s
	at       uint64        // when the newest tick was: the slots that are open
	models   []*modelRollup
	closings int      // how many models have been closed
	fresh    []uint64 // scratch of fold
}

// modelRollup is what is remembered of a model, and goes on when a model of the same name is opened again.
type modelRollup struct {
	name     string
	model    *Model // nil: closed
	closed   int    // which closing it was
	requests [numCombinations]*slotSeries
	engine   slotSeries

	// Of the open model:
	base  []uint64             // totals at the newest tick; see rollupLayout
	peaks [rollupMaxima]uint64 // since the newest tick
	rates rateWindow
}

// maxClosedRollups is how many closed models are remembered. Of more, the one that was closed first goes.
const maxClosedRollups = 8

// maxRollupBytes is the most that the slots of one model can take.
func (rl *rollupLayout) maxRollupBytes() int {
	return 8 * slotsPerSeries * (numCombinations*(1+rl.width) + 1 + engineWidth)
}

// advance is a tick: it brings every open model's numbers up to now and folds them in. The caller holds the scrape lock.
func (r *Recorder) advance(now time.Duration) {
	ru := &r.rollups
	if ru.layout == nil {
		ru.layout = newRollupLayout(r.layout)
		ru.fresh = make([]uint64, ru.layout.size())
		ru.epoch = uint64(max(0, r.wall(0).UnixNano()))
		ru.at = ru.epoch + uint64(now)
	}
	for _, m := range ru.models {
		if m.model != nil {
			m.model.drain()
			m.model.pull()
			ru.fold(m)
			m.rates.note(now, m.counts(ru.layout))
		}
	}
	ru.at = max(ru.at, ru.epoch+uint64(now))
	ru.models = slices.DeleteFunc(ru.models, func(m *modelRollup) bool { return !m.age(ru) && m.model == nil })
}

// fold adds what a model has counted since the tick before to the open slots.
func (ru *rollups) fold(m *modelRollup) {
	rl := ru.layout
	rl.read(m.model, ru.fresh)
	for c := range m.requests {
		row := rl.row(ru.fresh, c)
		if !subtract(row, rl.row(m.base, c), rollupTokens, rollupHist) {
			continue
		}
		if m.requests[c] == nil {
			m.requests[c] = new(slotSeries)
		}
		m.requests[c].add(ru.at, row, 0)
	}
	row := rl.engine(ru.fresh)
	some := subtract(row, rl.engine(m.base), 0, engineWidth)
	copy(row, m.peaks[:])
	if some || m.peaks != [rollupMaxima]uint64{} {
		m.engine.add(ru.at, row, rollupMaxima)
	}
	m.peaks = [rollupMaxima]uint64{}
}

// subtract makes totals their growth over base, and base the totals; it says whether anything grew. Those from lo up to hi are a
// source's, which may break its word and go down: they stay until they are past where they were. The others are sums modulo 2^64.
func subtract(totals, base []uint64, lo, hi int) (some bool) {
	for i, v := range totals {
		if i >= lo && i < hi {
			v = max(v, base[i])
		}
		totals[i], base[i] = v-base[i], v
		some = some || totals[i] != 0
	}
	return some
}

// age drops what is too old, and says whether anything is left.
func (m *modelRollup) age(ru *rollups) bool {
	left := m.engine.age(ru.at, 1+engineWidth)
	for c, s := range m.requests {
		if s == nil {
			continue
		}
		if s.age(ru.at, 1+ru.layout.width) {
			left = true
		} else {
			m.requests[c] = nil
		}
	}
	return left
}

// bytes is the memory of the model's slots.
func (m *modelRollup) bytes() int {
	n := m.engine.bytes()
	for _, s := range m.requests {
		if s != nil {
			n += s.bytes()
		}
	}
	return n
}

// peak takes the maxima of one reading. m is nil for a model that is being opened.
func (m *modelRollup) peak(s *Snapshot) {
	if m == nil {
		return
	}
	for i, v := range [rollupMaxima]int{s.PagesUsed, s.Running, s.WaitingTotal()} {
		m.peaks[i] = max(m.peaks[i], uint64(max(0, v)))
	}
}

// open begins to roll up m, which nobody has pushed to. The caller holds the scrape lock.
func (ru *rollups) open(m *Model, now time.Duration) {
	i := slices.IndexFunc(ru.models, func(old *modelRollup) bool { return old.name == m.name })
	if i < 0 {
		i = len(ru.models)
		ru.models = append(ru.models, &modelRollup{name: m.name})
	}
	m.rollup = ru.models[i]
	m.rollup.model, m.rollup.base, m.rollup.rates = m, make([]uint64, ru.layout.size()), rateWindow{}
	m.rollup.rates.note(now, rateCounts{})
}

// close takes a model's last tick as its end. The caller holds the scrape lock.
func (ru *rollups) close(m *Model) {
	ru.closings++
	m.rollup.model, m.rollup.base, m.rollup.closed = nil, nil, ru.closings
	m.rollup = nil
	var oldest *modelRollup
	closed := 0
	for _, old := range ru.models {
		if old.model == nil {
			closed++
			if oldest == nil || old.closed < oldest.closed {
				oldest = old
			}
		}
	}
	if closed > maxClosedRollups {
		ru.models = slices.DeleteFunc(ru.models, func(old *modelRollup) bool { return old == oldest })
	}
}
