package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/paddock-go/paddock/metrics"
)

// usage is the answer to GET /api/usage: what the runners did over a time, in slots of one length. Slots in which nothing happened, or
// of which nothing is known, are left out: gaps says which those may be.
type usage struct {
	From int64 `json:"from"` // start of the first slot, Unix seconds
	To   int64 `json:"to"`   // end of the last one
	Step int64 `json:"step"` // seconds

	Bounds  []metrics.RollupBounds `json:"bounds"`
	Series  []usageSeries          `json:"series"`
	Models  []usageModel           `json:"models"`
	Gaps    []usageGap             `json:"gaps"`
	Runners []usageRunner          `json:"runners"`
}

// usageSeries is the requests of one operation, origin and model of a runner, over all its runs.
type usageSeries struct {
	Runner    string               `json:"runner"`
	Operation string               `json:"gen_ai_operation_name"`
	Origin    string               `json:"origin"`
	Model     string               `json:"gen_ai_request_model"`
	Bounds    int                  `json:"bounds"` // which of the answer's bounds its histograms are on
	Slots     []metrics.RollupSlot `json:"slots"`
}

// usageModel is what the engine of a runner's model did.
type usageModel struct {
	Runner string                    `json:"runner"`
	Model  string                    `json:"model"`
	Slots  []metrics.RollupModelSlot `json:"slots"`
}

// usageGap is a time of which something may be missing.
type usageGap struct {
	Runner string `json:"runner"`
	Run    string `json:"run_id"`
	From   int64  `json:"from_ms"`
	To     int64  `json:"to_ms"`  // of an open one: now
	Open   bool   `json:"open"`   // the runner may still tell
	Reason string `json:"reason"` // one of those below
}

// Why something may be missing.
const (
	gapRestart = "restart" // another process answers: what the one before did after it was last read is gone with it
	gapUnread  = "unread"  // the runner doesn't answer, or not with what can be read
)

// usageRunner says up to when a runner's numbers are known.
type usageRunner struct {
	Runner string `json:"runner"`
	Looked int64  `json:"looked_ms"`
	Runs   int    `json:"runs"` // processes of it in the answer's time
}

// maxUsageSlots is how many slots one answer has at most.
const maxUsageSlots = 60_000

var errUsageTooLong = fmt.Errorf("the answer has more than %d slots: ask for a shorter time, a longer step, or one runner", maxUsageSlots)

// usageQuery is what is asked for.
type usageQuery struct {
	from, to int64            // Unix seconds
	grain    int              // index
	runner   string           // empty: all
	looked   map[string]int64 // of the runners that were read just now: up to when
}

// unreadAfter is for how long a runner that was not read makes no gap yet: some readings.
const unreadAfter = 15 * time.Second

// usage answers a query.
func (h *history) usage(q usageQuery) (*usage, error) {
	g := &grains[q.grain]
	now := h.now()
	out := &usage{Step: g.step, From: max(q.from/g.step*g.step, g.oldest(now.Unix())), To: (min(q.to, now.Unix()+g.step) + g.step - 1) / g.step * g.step,
		Bounds: []metrics.RollupBounds{}, Series: []usageSeries{}, Models: []usageModel{}, Gaps: []usageGap{}, Runners: []usageRunner{}}
	out.To = max(out.To, out.From)
	s := &summer{out: out, grain: g, series: map[summedSeries]map[int64]*metrics.RollupCounts{}, engines: map[summedEngine]map[int64]*metrics.RollupEngine{}}
	err := h.view(func(tx *bbolt.Tx) error {
		latest := tx.Bucket(bucketLatest)
		runners := map[string]*usageRunner{}
		err := eachRun(tx, func(id string, r *runRecord) error {
			if q.runner != "" && r.Runner != q.runner {
				return nil
			}
			last := string(latest.Get([]byte(r.Runner))) == id
			looked := r.looked()
			at, fresh := q.looked[r.Runner]
			if last {
				looked = max(looked, at)
			}
			out.addGap(id, r, looked, last, fresh, now.UnixMilli())
			if r.Start/1000 >= out.To && r.Shift == 0 {
				return nil
			}
			n, err := s.addRun(tx, id, r)
			if err != nil || n == 0 && looked/1000 < out.From {
				return err
			}
			u := runners[r.Runner]
			if u == nil {
				u = &usageRunner{Runner: r.Runner}
				runners[r.Runner] = u
			}
			u.Runs++
			u.Looked = max(u.Looked, looked)
			return nil
		})
		for _, u := range runners {
			out.Runners = append(out.Runners, *u)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.export()
	slices.SortFunc(out.Runners, func(a, b usageRunner) int { return cmp.Compare(a.Runner, b.Runner) })
	slices.SortFunc(out.Gaps, func(a, b usageGap) int {
		return cmp.Or(cmp.Compare(a.Runner, b.Runner), cmp.Compare(a.From, b.From), cmp.Compare(a.Run, b.Run))
	})
	return out, nil
}

// addGap adds what may be missing after a run was last read, if it is in the answer's time.
func (u *usage) addGap(id string, r *runRecord, looked int64, last, fresh bool, now int64) {
	gap := usageGap{Runner: r.Runner, Run: id, From: looked, To: r.until(), Reason: gapRestart}
	if last {
		if fresh || now-looked < unreadAfter.Milliseconds() {
			return
		}
		gap.To, gap.Open, gap.Reason = now, true, gapUnread
	}
	if gap.To > u.From*1000 && gap.From < u.To*1000 && gap.To > gap.From {
		u.Gaps = append(u.Gaps, gap)
	}
}

// summer adds up slots of runs.
type summer struct {
	out     *usage
	grain   *grain
	slots   int
	series  map[summedSeries]map[int64]*metrics.RollupCounts
	engines map[summedEngine]map[int64]*metrics.RollupEngine
}

type summedSeries struct {
	runner string
	id     seriesID
	bounds int
}

type summedEngine struct{ runner, model string }

// addRun adds the slots of a run that lie in the answer's time and says how many there were.
func (s *summer) addRun(tx *bbolt.Tx, run string, r *runRecord) (n int, err error) {
	b, err := runBucket(tx, []byte(s.grain.name), run, false)
	if b == nil || err != nil {
		return 0, err
	}
	bounds := s.bounds(&r.Bounds)
	c := b.Cursor()
	for k, v := c.Seek(startKey(s.out.From - r.Shift)); k != nil; k, v = c.Next() {
		start, id, ok := parseSlotKey(k)
		if !ok {
			return n, errDamaged
		}
		// A clock that was set moves slots by tens of seconds: they count in the slot that they begin in.
		at := (start + r.Shift) / s.grain.step * s.grain.step
		if at >= s.out.To {
			break
		}
		n++
		if id.op == engineSeries {
			ok = s.addEngine(summedEngine{r.Runner, id.model}, at, v)
		} else {
			ok = s.addCounts(summedSeries{r.Runner, id, bounds}, at, v)
		}
		if !ok {
			return n, errDamaged
		}
		if s.slots > maxUsageSlots {
			return n, errUsageTooLong
		}
	}
	return n, nil
}

// bounds is the number of a run's bounds in the answer.
func (s *summer) bounds(b *metrics.RollupBounds) int {
	i := slices.IndexFunc(s.out.Bounds, func(o metrics.RollupBounds) bool { return sameBounds(&o, b) })
	if i < 0 {
		i = len(s.out.Bounds)
		s.out.Bounds = append(s.out.Bounds, *b)
	}
	return i
}

func (s *summer) addCounts(id summedSeries, at int64, v []byte) bool {
	c, ok := parseCounts(v)
	if !ok {
		return false
	}
	slots := s.series[id]
	if slots == nil {
		slots = map[int64]*metrics.RollupCounts{}
		s.series[id] = slots
	}
	if old := slots[at]; old != nil {
		return addCounts(old, &c)
	}
	s.slots++
	slots[at] = &c
	return true
}

func (s *summer) addEngine(id summedEngine, at int64, v []byte) bool {
	e, ok := parseEngine(v)
	if !ok {
		return false
	}
	slots := s.engines[id]
	if slots == nil {
		slots = map[int64]*metrics.RollupEngine{}
		s.engines[id] = slots
	}
	old := slots[at]
	if old == nil {
		s.slots++
		slots[at] = &e
		return true
	}
	from, to := engineValues(&e), engineValues(old)
	for i := range to {
		if i < engineMaxima {
			*to[i] = max(*to[i], *from[i])
		} else {
			*to[i] += *from[i]
		}
	}
	return true
}

// addCounts adds b to a. They are on the same bounds.
func addCounts(a, b *metrics.RollupCounts) bool {
	for _, p := range [...][2]*uint64{{&a.Requests, &b.Requests}, {&a.Successes, &b.Successes}, {&a.ClientErrors, &b.ClientErrors},
		{&a.ServerErrors, &b.ServerErrors}, {&a.Disconnects, &b.Disconnects}, {&a.PromptTokens, &b.PromptTokens},
		{&a.CachedTokens, &b.CachedTokens}, {&a.GeneratedTokens, &b.GeneratedTokens}} {
		*p[0] += *p[1]
	}
	for _, p := range [...][2]*metrics.RollupHistogram{{&a.Duration, &b.Duration}, {&a.FirstToken, &b.FirstToken}, {&a.PerToken, &b.PerToken}} {
		if len(p[0].Counts) != len(p[1].Counts) {
			return false
		}
		for i, n := range p[1].Counts {
			p[0].Counts[i] += n
		}
		p[0].Sum += p[1].Sum
	}
	return true
}

// export puts what was added up in order.
func (s *summer) export() {
	for id, slots := range s.series {
		u := usageSeries{Runner: id.runner, Operation: operations[id.id.op], Origin: origins[id.id.origin], Model: id.id.model, Bounds: id.bounds}
		for at, c := range slots {
			u.Slots = append(u.Slots, metrics.RollupSlot{Start: at, RollupCounts: *c})
		}
		slices.SortFunc(u.Slots, func(a, b metrics.RollupSlot) int { return cmp.Compare(a.Start, b.Start) })
		s.out.Series = append(s.out.Series, u)
	}
	slices.SortFunc(s.out.Series, func(a, b usageSeries) int {
		return cmp.Or(cmp.Compare(a.Runner, b.Runner), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Operation, b.Operation),
			cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Bounds, b.Bounds))
	})
	for id, slots := range s.engines {
		u := usageModel{Runner: id.runner, Model: id.model}
		for at, e := range slots {
			u.Slots = append(u.Slots, metrics.RollupModelSlot{Start: at, RollupEngine: *e})
		}
		slices.SortFunc(u.Slots, func(a, b metrics.RollupModelSlot) int { return cmp.Compare(a.Start, b.Start) })
		s.out.Models = append(s.out.Models, u)
	}
	slices.SortFunc(s.out.Models, func(a, b usageModel) int {
		return cmp.Or(cmp.Compare(a.Runner, b.Runner), cmp.Compare(a.Model, b.Model))
	})
}

// grainFor is the finest grain that reaches back from now to a time; one that is named is itself.
func grainFor(name string, from, now int64) (int, error) {
	for i := range grains {
		if name == grains[i].name || name == "" && from >= grains[i].oldest(now) {
			return i, nil
		}
	}
	if name == "" {
		return numGrains - 1, nil
	}
	return 0, errors.New("step must be 10s, 1m or 1h")
}
