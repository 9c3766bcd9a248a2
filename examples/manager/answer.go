package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/metrics"
)

// What a runner's answers may have. A runner is another program, and may be any: what is over is an error, not memory.
const (
	maxStatsBytes  = 1 << 20
	maxRollupBytes = 4 << 20
	maxEventBytes  = 4 << 20
	maxBuckets     = 128  // of a histogram
	maxSeries      = 1024 // of one answer, and as many models
	maxAnswerSlots = 50_000
	maxName        = 256 // bytes of a model's name
	maxEventText   = 256
	maxChoices     = 128
	maxModels      = 64 // in stats
)

// put is a slot or an event as it is stored.
type put struct{ key, value []byte }

// rollupAnswer is a checked answer to GET /api/rollups. Its times are those that slots are stored by: without the runner's shift.
type rollupAnswer struct {
	run      metrics.Run
	from, to int64
	shift    int64
	bounds   metrics.RollupBounds
	puts     []put
}

// eventAnswer is a checked answer to GET /api/events.
type eventAnswer struct {
	run     metrics.Run
	next    uint64
	dropped uint64
	puts    []put
}

func checkRun(r metrics.Run) error {
	if len(r.ID) == 0 || len(r.ID) > 64 || strings.Trim(r.ID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
		return fmt.Errorf("its run_id is %.80q", r.ID)
	}
	if !(r.Start > 0 && r.Start < 1e11) {
		return fmt.Errorf("its run_start is %v", r.Start)
	}
	return nil
}

// parseStats reads an answer to GET /api/stats.
func parseStats(body []byte) (*metrics.Stats, error) {
	s := new(metrics.Stats)
	if err := json.Unmarshal(body, s); err != nil {
		return nil, err
	}
	if err := checkRun(s.Run); err != nil {
		return nil, err
	}
	if s.TimeMS <= 0 || s.TimeMS > 1e14 || len(s.Models) > maxModels {
		return nil, fmt.Errorf("ts_ms is %d, %d models", s.TimeMS, len(s.Models))
	}
	for i := range s.Models {
		if err := checkName(s.Models[i].Model); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func checkName(model string) error {
	if len(model) > maxName {
		return fmt.Errorf("a model's name has %d bytes, the most is %d", len(model), maxName)
	}
	return nil
}

// wireRollups is metrics.Rollups with its lists unread, so that they are counted before they take memory.
type wireRollups struct {
	From, To, Step, Shift int64
	Bounds                metrics.RollupBounds
	Series, Models        []json.RawMessage
	metrics.Run
}

type wireSeries struct {
	Operation string `json:"gen_ai_operation_name"`
	Origin    string `json:"origin"`
	Model     string `json:"gen_ai_request_model"`
	Slots     []json.RawMessage
}

type wireModel struct {
	Model string
	Slots []json.RawMessage
}

// parseRollups reads and checks an answer to GET /api/rollups at a grain.
func parseRollups(body []byte, g *grain) (*rollupAnswer, error) {
	var w wireRollups
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if err := checkRun(w.Run); err != nil {
		return nil, err
	}
	const latest = 1e11
	switch {
	case w.Step != g.step:
		return nil, fmt.Errorf("its step is %d s, asked for %d", w.Step, g.step)
	case w.Shift < -latest || w.Shift > latest || w.From < -latest || w.To > latest || w.From > w.To:
		return nil, fmt.Errorf("it is from %d to %d, shifted by %d", w.From, w.To, w.Shift)
	case (w.From-w.Shift)%g.step != 0 || (w.To-w.Shift)%g.step != 0 || w.From-w.Shift < 0:
		return nil, fmt.Errorf("it is from %d to %d, shifted by %d: no slots of %d s", w.From, w.To, w.Shift, g.step)
	case len(w.Series) > maxSeries || len(w.Models) > maxSeries:
		return nil, fmt.Errorf("it has %d series and %d models, the most is %d", len(w.Series), len(w.Models), maxSeries)
	}
	for _, b := range [...][]float64{w.Bounds.Duration, w.Bounds.FirstToken, w.Bounds.PerToken} {
		if len(b) >= maxBuckets || !slices.IsSorted(b) {
			return nil, fmt.Errorf("its bounds are no ladder of up to %d", maxBuckets-1)
		}
	}
	a := &rollupAnswer{run: w.Run, from: w.From - w.Shift, to: w.To - w.Shift, shift: w.Shift, bounds: w.Bounds}
	seen := map[seriesID]bool{}
	for _, raw := range w.Series {
		if err := a.addSeries(raw, g, seen); err != nil {
			return nil, err
		}
	}
	for _, raw := range w.Models {
		if err := a.addModel(raw, g, seen); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *rollupAnswer) addSeries(raw json.RawMessage, g *grain, seen map[seriesID]bool) error {
	var s wireSeries
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	op, origin := slices.Index(operations[:], s.Operation), slices.Index(origins[:], s.Origin)
	if op < 0 || origin < 0 {
		return fmt.Errorf("it has a series of operation %.32q and origin %.32q", s.Operation, s.Origin)
	}
	id := seriesID{uint8(op), uint8(origin), s.Model}
	return a.addSlots(id, s.Slots, g, seen, func(raw json.RawMessage) (int64, []byte, error) {
		var slot metrics.RollupSlot
		if err := json.Unmarshal(raw, &slot); err != nil {
			return 0, nil, err
		}
		if err := a.checkCounts(&slot.RollupCounts); err != nil {
			return 0, nil, err
		}
		return slot.Start, appendCounts(nil, &slot.RollupCounts), nil
	})
}

func (a *rollupAnswer) addModel(raw json.RawMessage, g *grain, seen map[seriesID]bool) error {
	var m wireModel
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	id := seriesID{engineSeries, engineSeries, m.Model}
	return a.addSlots(id, m.Slots, g, seen, func(raw json.RawMessage) (int64, []byte, error) {
		var slot metrics.RollupModelSlot
		err := json.Unmarshal(raw, &slot)
		return slot.Start, appendEngine(nil, &slot.RollupEngine), err
	})
}

// addSlots takes a series' slots, which are in order, on the grain, and within the answer.
func (a *rollupAnswer) addSlots(id seriesID, slots []json.RawMessage, g *grain, seen map[seriesID]bool, read func(json.RawMessage) (int64, []byte, error)) error {
	if err := checkName(id.model); err != nil {
		return err
	}
	if seen[id] {
		return fmt.Errorf("it has a series of model %.64q twice", id.model)
	}
	seen[id] = true
	if len(a.puts)+len(slots) > maxAnswerSlots {
		return errTooMuch
	}
	last := int64(-1)
	for _, raw := range slots {
		start, value, err := read(raw)
		if err != nil {
			return err
		}
		at := start - a.shift
		if at <= last || at < a.from || at >= a.to || at%g.step != 0 {
			return fmt.Errorf("it has a slot of %d between %d and %d, shifted by %d", start, a.from+a.shift, a.to+a.shift, a.shift)
		}
		last = at
		a.puts = append(a.puts, put{slotKey(at, id), value})
	}
	return nil
}

// errTooMuch is an answer that has more than a reader takes at once: to be asked for in smaller parts.
var errTooMuch = errors.New("the answer is too long")

func (a *rollupAnswer) checkCounts(c *metrics.RollupCounts) error {
	sums := c.Successes + c.ClientErrors + c.ServerErrors + c.Disconnects
	ends := [...]uint64{c.Successes, c.ClientErrors, c.ServerErrors, c.Disconnects, c.PromptTokens, c.CachedTokens, c.GeneratedTokens}
	if c.Requests != sums || slices.Max(ends[:]) > math.MaxInt64/8 {
		return fmt.Errorf("a slot has %d requests, which are %v", c.Requests, ends)
	}
	for i, h := range [...]*metrics.RollupHistogram{&c.Duration, &c.FirstToken, &c.PerToken} {
		bounds := [...][]float64{a.bounds.Duration, a.bounds.FirstToken, a.bounds.PerToken}[i]
		if len(h.Counts) != len(bounds)+1 || !(h.Sum >= 0) || math.IsInf(h.Sum, 0) || slices.Max(h.Counts) > math.MaxInt64/8 {
			return fmt.Errorf("a slot has a histogram of %d buckets over %d bounds with the sum %v", len(h.Counts), len(bounds), h.Sum)
		}
	}
	return nil
}

// parseEvents reads and checks a page of events that was asked for from a number on; first: from the oldest there is.
func parseEvents(body []byte, since uint64, first bool, most int) (*eventAnswer, error) {
	var w struct {
		Next, Dropped uint64
		Events        []json.RawMessage
		metrics.Run
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if err := checkRun(w.Run); err != nil {
		return nil, err
	}
	n := uint64(len(w.Events))
	if len(w.Events) > most || w.Next < n || w.Next > math.MaxInt64 {
		return nil, fmt.Errorf("it has %d events up to number %d, asked for %d", n, w.Next, most)
	}
	from := w.Next - n
	if first {
		w.Dropped = from // what was lost before anybody asked
	}
	if !first && (w.Next < since || from-since != w.Dropped) {
		return nil, fmt.Errorf("it has events %d to %d and %d dropped, asked for those from %d on", from, w.Next, w.Dropped, since)
	}
	a := &eventAnswer{run: w.Run, next: w.Next, dropped: w.Dropped}
	for i, raw := range w.Events {
		var e metrics.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		if e.Seq != from+uint64(i) || !shortTexts(&e) {
			return nil, fmt.Errorf("event %d is number %d, or has texts that are too long", from+uint64(i), e.Seq)
		}
		value, err := json.Marshal(&e)
		if err != nil {
			return nil, err
		}
		a.puts = append(a.puts, put{eventKey(e.Seq), value})
	}
	return a, nil
}

func shortTexts(e *metrics.Event) bool {
	texts := []string{e.Endpoint, e.RequestID, e.TraceID, e.SpanID, e.SessionID, e.User, e.Tenant, e.Operation, e.Provider, e.Model, e.ErrorType, e.FailureReason, e.Origin}
	if len(e.TooLong) > 16 || len(e.FinishReasons) > maxChoices {
		return false
	}
	texts = append(append(texts, e.TooLong...), e.FinishReasons...)
	return !slices.ContainsFunc(texts, func(s string) bool { return len(s) > maxEventText })
}
