package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// How often a runner is read: while it answers, and at most where it doesn't.
const (
	readEvery  = 2 * time.Second
	readSeldom = 15 * time.Second
)

// runner is one server that the manager watches, on a goroutine of its own: one that is slow or dead holds up no other.
type runner struct {
	to    *target
	given bool // on the command line; the others were found
	log   *slog.Logger
	read  *reader
	now   func() time.Time
	every time.Duration

	mu    sync.Mutex
	state runnerState
}

// runnerState is what GET /api/runners says of a runner.
type runnerState struct {
	ID      string   `json:"id"`
	URL     string   `json:"url"`
	Name    string   `json:"name"` // its first model, or its address
	Models  []string `json:"models"`
	Given   bool     `json:"given"`  // on the command line, not found
	Health  string   `json:"health"` // ok, unreachable, or waiting before the first answer
	Ready   bool     `json:"ready"`
	Seen    *int64   `json:"last_seen_ms"` // when it answered last, Unix milliseconds; null: never
	Since   *int64   `json:"since_ms"`     // when its process began, by its clock
	Version string   `json:"version"`
	Run     string   `json:"run_id"`
	Looked  *int64   `json:"read_ms"`           // up to when its numbers are in the history, by its clock
	SameAs  string   `json:"same_as,omitempty"` // the runner that this one is, under another address
	Error   string   `json:"error,omitempty"`   // why it isn't read
	failed  time.Time
	read    time.Time // when it was read last, by the manager's clock
}

func newRunner(to *target, given bool, c *client, h *history, log *slog.Logger) *runner {
	return &runner{to: to, given: given, log: log.With("runner", to.id), read: newReader(c, h, to), now: h.now, every: readEvery,
		state: runnerState{ID: to.id, URL: to.url, Name: to.host, Models: []string{}, Given: given, Health: "waiting"}}
}

// snapshot is a copy of the state.
func (r *runner) snapshot() runnerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// watch reads the runner until ctx ends.
func (r *runner) watch(ctx context.Context) {
	wait := time.Duration(0)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if r.once(ctx) {
			wait = r.snapshot().next(r.every, r.now())
		} else {
			wait = min(max(2*wait, r.every), readSeldom)
		}
	}
}

// afterSlot is how long after a slot's end, by the runner's clock, it is read.
const afterSlot = 20 * time.Millisecond

// next is how long to wait for the next reading: as long as ever, or until just after the end of the slot of 10 s that is in progress by
// the runner's clock, so that a runner killed later loses none that had ended.
func (s runnerState) next(every time.Duration, now time.Time) time.Duration {
	if s.Looked == nil || now.Sub(s.read) > readSeldom {
		return every
	}
	slot := time.Duration(grains[0].step) * time.Second
	at := time.Duration(*s.Looked)*time.Millisecond + now.Sub(s.read)
	return min(every, slot-at%slot+afterSlot)
}

// once is one reading, and tells whether the runner answered.
func (r *runner) once(ctx context.Context) bool {
	alive, ready := r.probe(ctx, "/healthz"), false
	if alive == nil {
		ready = r.probe(ctx, "/readyz") == nil
	}
	var got *reading
	err := alive
	if err == nil {
		got, err = r.read.read(ctx)
	}
	if ctx.Err() != nil {
		return false
	}
	before := r.note(alive, ready, got, err)
	now := r.snapshot()
	if before.Health != now.Health || before.Error != now.Error || before.Run != now.Run {
		r.log.Info("a runner's state", "health", now.Health, "run", now.Run, "models", now.Models, "error", now.Error)
	}
	return alive == nil
}

// note takes what a reading brought and returns the state before.
func (r *runner) note(alive error, ready bool, got *reading, err error) (before runnerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, s, now := r.state, &r.state, r.now()
	s.Ready, s.SameAs, s.Error = ready, "", ""
	if alive != nil {
		s.Health = "unreachable"
		if before.Health != s.Health {
			s.failed = now
		}
		s.Error = alive.Error()
		return before
	}
	s.Health, s.Seen = "ok", new(now.UnixMilli())
	if got != nil {
		s.take(got, err == nil, now)
		s.Error = got.note
	}
	if err != nil {
		s.Error = err.Error()
	}
	if same := (*sameRunError)(nil); errors.As(err, &same) {
		s.SameAs = same.runner
	}
	return before
}

func (s *runnerState) take(got *reading, read bool, now time.Time) {
	if got.run.ID != "" {
		s.Run, s.Since = got.run.ID, new(int64(got.run.Start*1000))
	}
	if read && got.run.ID != "" {
		s.Looked, s.read = new(got.at), now
	}
	if got.stats == nil {
		return
	}
	s.Version = got.stats.Build.Version
	s.Models = make([]string, 0, len(got.stats.Models))
	for _, m := range got.stats.Models {
		s.Models = append(s.Models, m.Model)
	}
	if len(s.Models) > 0 {
		s.Name = s.Models[0]
	}
}

// probe asks for a path that answers 200 if all is well.
func (r *runner) probe(ctx context.Context, path string) error {
	_, err := r.read.client.get(ctx, r.to, path, nil, 64<<10)
	return err
}
