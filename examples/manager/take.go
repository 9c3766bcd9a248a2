package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/paddock-go/paddock/metrics"
)

// look is what one round of questions to a runner brought. All of it is of one run.
type look struct {
	runner  string
	run     metrics.Run
	at      int64 // before the questions, Unix milliseconds by the runner's clock
	full    bool  // nothing of before that moment is left unread
	rollups [numGrains]*rollupAnswer
	events  *eventAnswer
}

// maxRuns is how many runs are remembered: a runner that crashes every minute for two weeks makes as many.
const maxRuns = 20_000

// take stores a look, and how far the run has now been read, in one transaction.
func (h *history) take(l *look) error {
	return h.update(func(tx *bbolt.Tx) error {
		id := l.run.ID
		r, err := h.record(tx, l)
		if err != nil {
			return err
		}
		if err := h.at("record"); err != nil {
			return err
		}
		for g, a := range l.rollups {
			if a == nil {
				continue
			}
			if err := h.takeRollups(tx, id, r, g, a); err != nil {
				return err
			}
			if err := h.at("rollups"); err != nil {
				return err
			}
		}
		if l.events != nil {
			if err := h.takeEvents(tx, id, r, l.events); err != nil {
				return err
			}
			if err := h.at("events"); err != nil {
				return err
			}
		}
		if l.full {
			r.Looked = max(r.Looked, l.at)
		}
		if err := r.write(tx, id); err != nil {
			return err
		}
		return h.at("written")
	})
}

// record finds the run's record or begins it, and notes what it says of the run before.
func (h *history) record(tx *bbolt.Tx, l *look) (*runRecord, error) {
	id := l.run.ID
	r, err := readRun(tx, id)
	if err != nil {
		return nil, err
	}
	start := int64(l.run.Start * 1000)
	switch {
	case r == nil:
		if err := h.makeRoom(tx); err != nil {
			return nil, err
		}
		r = &runRecord{Runner: l.runner, Start: start, First: l.at, Looked: start} // the runner keeps what happened before it was found
	case r.Runner != l.runner:
		if h.live(r.Runner) {
			return nil, &sameRunError{r.Runner}
		}
		r.Runner = l.runner
	}
	latest := tx.Bucket(bucketLatest)
	before := string(latest.Get([]byte(l.runner)))
	if before == id {
		return r, nil
	}
	r.Until = 0 // it answers (again): nothing of it is out of reach
	if err := latest.Put([]byte(l.runner), []byte(id)); err != nil {
		return nil, err
	}
	old, err := readRun(tx, before)
	if old == nil || err != nil || old.Runner != l.runner {
		return r, err
	}
	// The other run has gone. When it did isn't known, but not after this one began, if the two had the address in turn.
	old.Until = start
	if start <= old.Looked {
		old.Until = max(old.Looked, l.at)
	}
	return r, old.write(tx, before)
}

// makeRoom forgets the run that was looked at longest ago, if there are too many.
func (h *history) makeRoom(tx *bbolt.Tx) error {
	n, oldest, at := 0, "", int64(0)
	err := eachRun(tx, func(id string, r *runRecord) error {
		n++
		if oldest == "" || r.Looked < at {
			oldest, at = id, r.Looked
		}
		return nil
	})
	if err != nil || n < maxRuns {
		return err
	}
	return dropRun(tx, oldest)
}

func (h *history) takeRollups(tx *bbolt.Tx, id string, r *runRecord, g int, a *rollupAnswer) error {
	if r.Open == [numGrains]int64{} {
		r.Bounds = a.bounds
	}
	if !sameBounds(&r.Bounds, &a.bounds) {
		return fmt.Errorf("run %s has other bounds now than before", id)
	}
	r.Shift = a.shift
	if a.from == a.to {
		return nil // the clock was set, or nothing can have happened: asked again with the shift that is known now
	}
	slots, err := runBucket(tx, []byte(grains[g].name), id, true)
	if err != nil {
		return err
	}
	for _, p := range a.puts {
		if start, _, _ := parseSlotKey(p.key); start < r.Open[g] {
			continue // it had ended when it was read before
		}
		if bytes.Equal(slots.Get(p.key), p.value) {
			continue
		}
		if err := slots.Put(p.key, p.value); err != nil {
			return err
		}
	}
	r.Open[g] = max(r.Open[g], a.to-grains[g].step)
	return nil
}

func eventKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// How many events of a run are kept, and how many notes of lost ones.
const (
	keepEvents = 2048
	keepLost   = 256
)

func (h *history) takeEvents(tx *bbolt.Tx, id string, r *runRecord, a *eventAnswer) error {
	if a.dropped > 0 {
		lost, err := runBucket(tx, bucketLost, id, true)
		if err != nil {
			return err
		}
		from := a.next - uint64(len(a.puts)) - a.dropped
		if err := lost.Put(eventKey(from), binary.BigEndian.AppendUint64(nil, a.dropped)); err != nil {
			return err
		}
		r.Lost += a.dropped
		if err := dropFirst(lost, keepLost); err != nil {
			return err
		}
	}
	if len(a.puts) > 0 {
		events, err := runBucket(tx, bucketEvents, id, true)
		if err != nil {
			return err
		}
		for _, p := range a.puts {
			if err := events.Put(p.key, p.value); err != nil {
				return err
			}
		}
		oldest := eventKey(a.next - min(a.next, keepEvents))
		if _, err := dropBelow(events, oldest, len(a.puts)+keepEvents); err != nil {
			return err
		}
	}
	r.Next, r.Events = a.next, true
	return nil
}

// dropBelow deletes keys below a bound, the lowest ones, most of them at most, and tells how many.
func dropBelow(b *bbolt.Bucket, bound []byte, most int) (int, error) {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil && bytes.Compare(k, bound) < 0 && len(keys) < most; k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys { // a cursor loses its place when its bucket is changed
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// dropFirst deletes the lowest keys until keep are left.
func dropFirst(b *bbolt.Bucket, keep int) error {
	for n := b.Stats().KeyN - keep; n > 0; n-- {
		k, _ := b.Cursor().First()
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// sum is a digest of all that a look has to store.
func (l *look) sum() [32]byte {
	d := sha256.New()
	number := func(v uint64) { d.Write(binary.BigEndian.AppendUint64(nil, v)) }
	text := func(b []byte) { number(uint64(len(b))); d.Write(b) }
	for _, a := range l.rollups {
		if a == nil {
			number(0)
			continue
		}
		number(1)
		number(uint64(a.to))
		number(uint64(a.shift))
		for _, p := range a.puts {
			text(p.key)
			text(p.value)
		}
	}
	if l.events != nil {
		number(l.events.next)
	}
	return [32]byte(d.Sum(nil))
}
