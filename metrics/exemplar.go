package metrics

import (
	"encoding/hex"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// tracedHists are the histograms that have exemplars, and native buckets where they are on: the first ones of a combination.
const tracedHists = int(hQueue)

// exemplars are a model's newest traced observations, one for each bucket of a traced histogram. They lie as the cells of the
// ledger do, without those of the other histograms, and behind the ledger's gate: an exemplar is on no page without the
// observation that it stands for.
//
//	half 0, half 1: │ slots of combination 0 │ slots of combination 1 │ …   written by Finish
//	newest:         │ the same, as the page has them                       owned by whoever scrapes
//
// With the ladders that are the default a half has 15 combinations of 13 histograms of 16 slots: 3,120 slots, 149,760 bytes,
// which aren't touched for combinations that don't occur.
type exemplars struct {
	traced int // slots of a combination
	halves [2][]slot
	newest []exemplar // nil until there is one
	wall   func(time.Duration) time.Time
}

// slot takes the newest traced observation of a bucket. Its writers exclude each other by its state.
type slot struct {
	state atomic.Uint32
	trace [16]byte
	span  [8]byte
	value uint64        // the observation, in nanoseconds
	at    time.Duration // its request finished
}

// The states of a slot.
const (
	slotEmpty uint32 = iota
	slotBusy
	slotFull
)

// exemplar is what a page shows, made once, so that all pages show one time of day for it.
type exemplar struct {
	at    time.Duration
	shown *dto.Exemplar
}

func newExemplars(l *layout, wall func(time.Duration) time.Time) *exemplars {
	x := &exemplars{traced: l.at[tracedHists], wall: wall}
	for half := range x.halves {
		x.halves[half] = make([]slot, numCombinations*x.traced)
	}
	return x
}

// put takes an observation, unless the slot has one of a request that finished later. A writer that finds another one in the slot
// looks again a few times, which is longer than the other needs, and then lets the other's stay: it may be off its processor.
func (s *slot) put(value uint64, rec *Record) {
	const looks = 64
	for range looks {
		state := s.state.Load()
		if state == slotBusy || !s.state.CompareAndSwap(state, slotBusy) {
			continue
		}
		if state == slotEmpty || s.at <= rec.Finished {
			s.trace, s.span, s.value, s.at = rec.TraceID, rec.SpanID, value, rec.Finished
		}
		s.state.Store(slotFull)
		return
	}
}

// take moves slot i of a cold half to what pages show.
func (x *exemplars) take(half, i int) {
	s := &x.halves[half][i]
	if s.state.Load() == slotEmpty {
		return
	}
	if x.newest == nil {
		x.newest = make([]exemplar, len(x.halves[half]))
	}
	if e := &x.newest[i]; e.shown == nil || e.at <= s.at {
		*e = exemplar{s.at, s.show(x.wall(s.at))}
	}
	s.state.Store(slotEmpty)
}

// show makes the exemplar that pages show. A trace without a span has one label.
func (s *slot) show(wall time.Time) *dto.Exemplar {
	value := float64(s.value) / perSecond
	x := &dto.Exemplar{Value: &value}
	stamp, micros := made(&x.Timestamp), wall.UnixMicro()
	stamp.Seconds, stamp.Nanos = micros/1e6, int32(micros%1e6*1e3)
	x.Label = append(x.Label, pair("trace_id", hex.EncodeToString(s.trace[:])))
	if s.span != [8]byte{} {
		x.Label = append(x.Label, pair("span_id", hex.EncodeToString(s.span[:])))
	}
	return x
}

// made sets p to a new T. The type of a timestamp has its name in a package that nothing else is needed from.
func made[T any](p **T) *T {
	*p = new(T)
	return *p
}

// of is the exemplar of a bucket, nil: none.
func (x *exemplars) of(i int) *dto.Exemplar {
	if x == nil || x.newest == nil {
		return nil
	}
	return x.newest[i].shown
}
