package metrics

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Rollups is what a recorder's models did over a time, in slots of one length. Slots in which nothing happened are left out.
type Rollups struct {
	From int64 `json:"from"` // start of the first slot, Unix seconds: not before what is still there
	To   int64 `json:"to"`   // end of the last slot; the one in progress counts up to now
	Step int64 `json:"step"` // length of a slot in seconds: 10, 60 or 3600

	Bounds RollupBounds   `json:"bounds"`
	Series []RollupSeries `json:"series"` // by model in the order of opening, then operation, then origin
	Models []RollupModel  `json:"models"`

	// Shift is by how many seconds all times here have been moved because the time of day was set. A slot's start less the shift never
	// changes: that is what to know a slot by.
	Shift int64 `json:"shift"`

	Run
}

// RollupBounds are the finite upper bounds of the histograms' buckets, in seconds.
type RollupBounds struct {
	Duration   []float64 `json:"duration_seconds"`
	FirstToken []float64 `json:"time_to_first_token_seconds"`
	PerToken   []float64 `json:"time_per_output_token_seconds"`
}

// RollupSeries is the requests of one operation, origin and model.
type RollupSeries struct {
	Operation string       `json:"gen_ai_operation_name"`
	Origin    string       `json:"origin"`
	Model     string       `json:"gen_ai_request_model"`
	Slots     []RollupSlot `json:"slots"`
	Total     RollupTotal  `json:"total"`
}

// RollupSlot is what happened from Start on, for one step.
type RollupSlot struct {
	Start int64 `json:"start"` // Unix seconds, a multiple of 10
	RollupCounts
}

// RollupCounts are counts of requests by how they ended, of tokens, and the histograms gen_ai_server_*: the duration over all
// outcomes, the other two once per choice of a success. Prompt and cached tokens count when a request is first scheduled, generated
// ones as they happen, all else at the end.
type RollupCounts struct {
	Requests     uint64 `json:"requests"` // = successes + client errors + server errors + disconnects
	Successes    uint64 `json:"successes"`
	ClientErrors uint64 `json:"failures_4xx"`
	ServerErrors uint64 `json:"failures_5xx"`
	Disconnects  uint64 `json:"disconnects"`

	PromptTokens    uint64 `json:"prompt_tokens"`
	CachedTokens    uint64 `json:"cached_tokens"`
	GeneratedTokens uint64 `json:"generated_tokens"`

	Duration   RollupHistogram `json:"duration_seconds"`
	FirstToken RollupHistogram `json:"time_to_first_token_seconds"`
	PerToken   RollupHistogram `json:"time_per_output_token_seconds"`
}

// RollupHistogram is a histogram on the bounds of its name in RollupBounds.
type RollupHistogram struct {
	Counts []uint64 `json:"counts"` // of each bucket alone, not cumulative; the last is above all bounds
	Sum    float64  `json:"sum"`    // seconds
}

// RollupTotal is the sum over a series' slots.
type RollupTotal struct {
	RollupCounts
	Quantiles RollupQuantiles `json:"quantiles"`
}

// RollupQuantiles are quantiles of a total's histograms as PromQL's histogram_quantile computes them; nil for one without observations.
type RollupQuantiles struct {
	Duration   *Quantiles `json:"duration_seconds,omitempty"`
	FirstToken *Quantiles `json:"time_to_first_token_seconds,omitempty"`
	PerToken   *Quantiles `json:"time_per_output_token_seconds,omitempty"`
}

// Quantiles are quantiles of a histogram, in seconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// RollupModel is what a model's engine did.
type RollupModel struct {
	Model string            `json:"model"`
	Open  bool              `json:"open"` // false: the model has been closed; the newest 8 of those are remembered
	Slots []RollupModelSlot `json:"slots"`
	Total RollupEngine      `json:"total"`
}

// RollupModelSlot is what an engine did from Start on, for one step.
type RollupModelSlot struct {
	Start int64 `json:"start"` // Unix seconds, a multiple of 10
	RollupEngine
}

// RollupEngine has the largest of an engine's gauges, which are read once a second and at each scrape, and the growth of its counters.
type RollupEngine struct {
	KVPagesMax         uint64 `json:"kv_pages_max"` // used
	RunningMax         uint64 `json:"running_max"`  // sequences
	WaitingMax         uint64 `json:"waiting_max"`
	SpecDraftTokens    uint64 `json:"spec_draft_tokens"`
	SpecAcceptedTokens uint64 `json:"spec_accepted_tokens"`
	Preemptions        uint64 `json:"preemptions"`
	PrefixQueries      uint64 `json:"prefix_cache_queries"` // tokens
	PrefixHits         uint64 `json:"prefix_cache_hits"`
}

// ErrNoMetrics is returned by Rollups and Stats of a recorder that keeps no metrics.
var ErrNoMetrics = errors.New("metrics: this recorder keeps no metrics; make it without RecorderOptions.NoMetrics, or use another than Off")

// A RollupRangeError says what is wrong with a range that Rollups was asked for.
type RollupRangeError struct{ Problem string }

func (e *RollupRangeError) Error() string { return "metrics: rollups: " + e.Problem }

// Rollups returns what happened in the slots that overlap from ≤ t < to. A zero to is now, a zero from an hour before to. step is 10 s
// (which an hour is remembered of), a minute (a day) or an hour (90 days); 0: the finest that reaches back to from. It may be called
// concurrently with everything. The error is ErrNoMetrics or a *RollupRangeError.
func (r *Recorder) Rollups(from, to time.Time, step time.Duration) (Rollups, error) {
	if r.off {
		return Rollups{}, ErrNoMetrics
	}
	var names []string
	for i := range grains {
		if grains[i].step == step {
			return r.rollupsAt(from, to, i)
		}
		names = append(names, grains[i].name)
	}
	if step == 0 {
		return r.rollupsAt(from, to, finestGrain)
	}
	return Rollups{}, &RollupRangeError{fmt.Sprintf("a step of %v is none of %v", step, names)}
}

// finestGrain is the finest grain that reaches back to from.
const finestGrain = -1

// rollupsAt answers at the grain of an index, or at finestGrain.
func (r *Recorder) rollupsAt(from, to time.Time, at int) (Rollups, error) {
	cut, err := r.cutRollups(from, to, at)
	if err != nil {
		return Rollups{}, err
	}
	return cut.export(), nil
}

// rollupCut is the words of the slots that were asked for, taken out of the rollups so that no scrape waits until they are counted.
type rollupCut struct {
	run      Run
	layout   *rollupLayout
	grain    *grain
	shift    time.Duration
	from, to uint64 // slot numbers
	models   []modelCut
}

type modelCut struct {
	name     string
	open     bool
	requests [numCombinations][]uint64
	engine   []uint64
}

func (r *Recorder) cutRollups(from, to time.Time, at int) (*rollupCut, error) {
	r.scrape.Lock()
	defer r.scrape.Unlock()
	now := r.now()
	r.advance(now)
	ru := &r.rollups
	today := r.wall(now)
	ru.setClock(today)
	last := ru.at + 1 // the slot in progress is always in
	if !to.IsZero() {
		last = ru.clock(to)
	}
	first := last - 1 - min(last-1, uint64(time.Hour))
	if !from.IsZero() {
		first = ru.clock(from)
	}
	if first >= last {
		if to.IsZero() {
			to = today
		}
		return nil, &RollupRangeError{fmt.Sprintf("from (%s) must be before to (%s)", from.Format(time.RFC3339), to.Format(time.RFC3339))}
	}
	if at == finestGrain {
		at = grainFor(first, ru.at)
	}
	g := &grains[at]
	step := uint64(g.step)
	cut := &rollupCut{run: r.process.run, layout: ru.layout, grain: g, shift: ru.shift,
		from: max(first/step, g.oldest(ru.at)),
		to:   min((last+step-1)/step, ru.at/step+1)}
	cut.to = max(cut.from, cut.to) // a range that is all past, or all to come, is empty
	for _, m := range ru.models {
		c := modelCut{name: m.name, open: m.model != nil, engine: m.engine.rings[at].copy(cut.from, cut.to, 1+engineWidth)}
		for i, s := range m.requests {
			if s != nil {
				c.requests[i] = s.rings[at].copy(cut.from, cut.to, 1+ru.layout.width)
			}
		}
		cut.models = append(cut.models, c)
	}
	return cut, nil
}

// setClock moves the answers' time by whole slots if the time of day has been set.
func (ru *rollups) setClock(today time.Time) {
	off := today.Sub(time.Unix(0, int64(ru.at))) - ru.shift
	if least := grains[0].step; off.Abs() > least {
		ru.shift += off.Round(least)
	}
}

// clock is the rollups' time at a time of day, above 0; times beyond what 64 bits hold are the nearest that they do.
func (ru *rollups) clock(t time.Time) uint64 {
	const most = math.MaxInt64 / int64(time.Second)
	if t.Unix() >= most {
		return math.MaxInt64
	}
	if t.Unix() <= 0 {
		return 1
	}
	return uint64(max(1, t.UnixNano()-int64(ru.shift)))
}

// grainFor is the finest grain that reaches back from a time to first.
func grainFor(first, at uint64) int {
	for i := range grains {
		if first/uint64(grains[i].step) >= grains[i].oldest(at) {
			return i
		}
	}
	return len(grains) - 1
}
