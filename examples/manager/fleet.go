package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxRunners is how many runners are watched at once.
const maxRunners = 128

// forgetAfter is how long a runner that was found, and has gone, is still in the list. Its history stays.
const forgetAfter = 10 * time.Minute

// fleet is the runners that the manager watches: those of the command line, and those that it finds.
type fleet struct {
	client  *client
	history *history
	log     *slog.Logger
	probe   portRange
	skip    string // the manager's own address

	mu      sync.Mutex
	runners map[string]*watched
	wait    sync.WaitGroup
}

type watched struct {
	*runner
	stop context.CancelFunc
}

func newFleet(c *client, h *history, log *slog.Logger, probe portRange) *fleet {
	f := &fleet{client: c, history: h, log: log, probe: probe, runners: map[string]*watched{}}
	h.live = func(id string) bool { return f.find(id) != nil }
	return f
}

// find returns a runner, nil: there is none of that id.
func (f *fleet) find(id string) *runner {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.runners[id]; w != nil {
		return w.runner
	}
	return nil
}

// watch begins to watch a runner until ctx ends, if there is room.
func (f *fleet) watch(ctx context.Context, to *target, given bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runners[to.id] != nil || len(f.runners) >= maxRunners {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watched{newRunner(to, given, f.client, f.history, f.log), stop}
	f.runners[to.id] = w
	f.wait.Go(func() { w.watch(ctx) })
}

// forget stops to watch the runners that were found, and have gone or are others.
func (f *fleet) forget(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, w := range f.runners {
		s := w.snapshot()
		if !w.given && s.Health == "unreachable" && now.Sub(s.failed) > forgetAfter {
			w.stop()
			delete(f.runners, id)
		}
	}
}

// states are the runners in the order of their ids; those that were found and are others under a second address are left out.
func (f *fleet) states() []runnerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []runnerState{}
	for _, w := range f.runners {
		if s := w.snapshot(); w.given || s.SameAs == "" {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b runnerState) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// looked is up to when the numbers of each runner that was read just now are known. The history is told of it now and then only, and of
// clocks that differ knows nothing.
func (f *fleet) looked() map[string]int64 {
	m, now := map[string]int64{}, f.history.now()
	for _, s := range f.states() {
		if s.Looked != nil && s.SameAs == "" && now.Sub(s.read) < unreadAfter {
			m[s.ID] = *s.Looked
		}
	}
	return m
}

const (
	findEvery = 5 * time.Second
	findTime  = 2 * time.Second
)

// discover looks for runners until ctx ends. It connects to a few ports of 127.0.0.1, from the one on which a server listens unless it is
// told otherwise, and takes for a runner what answers GET /api/stats or /v1/models as one does. No key is sent.
func (f *fleet) discover(ctx context.Context) {
	tick := time.NewTicker(findEvery)
	defer tick.Stop()
	for {
		f.look(ctx)
		f.forget(f.history.now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look is one look at all the ports at once: one that is silent holds up no other.
func (f *fleet) look(ctx context.Context) {
	look, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	var wg sync.WaitGroup
	for port := max(1, f.probe.first); port <= f.probe.last; port++ {
		to, err := parseTarget(fmt.Sprintf("http://127.0.0.1:%d", port), "")
		if err != nil || to.host == f.skip || f.find(to.id) != nil {
			continue
		}
		wg.Go(func() {
			if f.isRunner(look, to) {
				f.watch(ctx, to, false)
			}
		})
	}
	wg.Wait()
}

// isRunner tells whether a runner listens there.
func (f *fleet) isRunner(ctx context.Context, to *target) bool {
	body, err := f.client.get(ctx, to, "/api/stats", nil, maxStatsBytes)
	if err == nil {
		_, err = parseStats(body)
		return err == nil
	}
	if !refused(err) { // a runner without metrics refuses in our words
		return false
	}
	body, err = f.client.get(ctx, to, "/v1/models", nil, maxStatsBytes)
	var models struct {
		Data []struct {
			OwnedBy string `json:"owned_by"`
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &models)
	}
	return err == nil && len(models.Data) > 0 && strings.EqualFold(models.Data[0].OwnedBy, "paddock")
}
