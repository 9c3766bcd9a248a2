package main

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"go.etcd.io/bbolt"
)

// activity is the answer to GET /api/runners/{id}/activity: a runner's newest ended requests, the newest first, over its runs.
type activity struct {
	Runner string          `json:"runner"`
	Events []activityEvent `json:"events"`
	Lost   []activityLost  `json:"lost"` // what lies between them
}

// activityEvent is an event as the runner has it, and the run that its number is of.
type activityEvent struct {
	Run   string          `json:"run_id"`
	Event json.RawMessage `json:"event"`
}

// activityLost are events that the runner's ring had lost before they were read, or before it was found.
type activityLost struct {
	Run   string `json:"run_id"`
	From  uint64 `json:"from_seq"`
	Count uint64 `json:"count"`
}

// activity returns the newest events of a runner, limit of them at most.
func (h *history) activity(runner string, limit int) (*activity, error) {
	out := &activity{Runner: runner, Events: []activityEvent{}, Lost: []activityLost{}}
	err := h.view(func(tx *bbolt.Tx) error {
		type run struct {
			id    string
			start int64
		}
		var runs []run
		err := eachRun(tx, func(id string, r *runRecord) error {
			if r.Runner == runner && r.Events {
				runs = append(runs, run{id, r.Start})
			}
			return nil
		})
		slices.SortFunc(runs, func(a, b run) int { return int(min(1, max(-1, b.start-a.start))) })
		for _, r := range runs {
			if len(out.Events) >= limit {
				break
			}
			oldest := out.addRun(tx, r.id, limit)
			out.addLost(tx, r.id, oldest)
		}
		return err
	})
	return out, err
}

// addRun adds a run's newest events and returns the number of the oldest one that was added.
func (a *activity) addRun(tx *bbolt.Tx, run string, limit int) (oldest uint64) {
	events, _ := runBucket(tx, bucketEvents, run, false)
	if events == nil {
		return 0
	}
	c := events.Cursor()
	k, v := c.Last()
	for ; k != nil && len(a.Events) < limit; k, v = c.Prev() {
		a.Events = append(a.Events, activityEvent{run, slices.Clone(v)})
		oldest = binary.BigEndian.Uint64(k)
	}
	if k == nil {
		return 0
	}
	return oldest
}

// addLost adds what was lost of a run from the oldest event shown on.
func (a *activity) addLost(tx *bbolt.Tx, run string, oldest uint64) {
	lost, _ := runBucket(tx, bucketLost, run, false)
	if lost == nil {
		return
	}
	for c, k, v := cursorLast(lost); k != nil; k, v = c.Prev() {
		from, n := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(v)
		if from+n < oldest {
			return
		}
		a.Lost = append(a.Lost, activityLost{run, from, n})
	}
}

func cursorLast(b *bbolt.Bucket) (c *bbolt.Cursor, k, v []byte) {
	c = b.Cursor()
	k, v = c.Last()
	return c, k, v
}
