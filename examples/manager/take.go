package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/paddock-go/paddock/metrics"
)

// look is what one round of questions to a runner brought. All of it is of one run.
type look struct {
	runner  string
	run     metrics.Run
	at      int64 // before the questions, Unix milliseconds by the runner's clock
	full    bool  // no slot of before that moment is left unread
	more    bool  // but events are
	rollups [numGrains]*rollupAnswer
	events  *eventAnswer
}

// How many runs are remembered: of one runner, and of all.
const (
	maxRunsEach = 1024
	maxRuns     = 20_000
)

// take stores a look, and how far the run has now been read, in one transaction.
func (h *history) take(l *look) error {
	full := false
	err := h.update(func(tx *bbolt.Tx) (err error) {
		id := l.run.ID
		if full, err = h.makeSpace(tx, l.runner); err != nil {
			return err
		}
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
		if l.events != nil && !full {
			if err := h.takeEvents(tx, id, r, l.events); err != nil {
				return err
			}
			if err := h.at("events"); err != nil {
				return err
			}
		}
		if l.full && (full || !l.more) {
			r.Looked, h.lookedAt[l.runner] = l.at-r.Shift*1000, h.now()
		}
		if err := r.write(tx, id); err != nil {
			return err
		}
		return h.at("written")
	})
	if err == nil && full && l.events != nil && len(l.events.puts) > 0 {
		err = errNoEvents
	}
	return err
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
		if err := h.makeRoom(tx, l.runner); err != nil {
			return nil, err
		}
		r = &runRecord{Runner: l.runner, Start: start, First: l.at, Looked: start} // its shift was 0 then; it keeps what happened before it was found
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
	// The other run has gone. When it did isn't known, but not after this one began, if the two had the address in turn. If that is before
	// the other was last read, its clock was set back since, and what has passed is what the manager's own clock says.
	until := min(start+startError, l.at)
	if looked := old.looked(); until <= looked {
		passed := max(minGap, l.at-looked)
		if at, ok := h.lookedAt[l.runner]; ok {
			passed = max(passed, h.now().Sub(at).Milliseconds())
		}
		until = looked + passed
	}
	old.Until = until - old.Shift*1000
	return r, old.write(tx, before)
}

// startError is by how much a process may have begun later than it says, milliseconds: Linux tells the boot, from which starts are counted, in
// whole seconds. The run before may have lived until then.
const startError = 1000

// minGap is the shortest gap, milliseconds, where nothing tells how long it was: a slot.
const minGap = 10_000

// makeRoom forgets a run of the runner's own if it has too many, and one of the runner that has the most if all together have. In both
// cases it is the one that was looked at longest ago. Events are kept of the runner's newest runs.
func (h *history) makeRoom(tx *bbolt.Tx, runner string) error {
	runs, all := map[string][]aged{}, 0
	err := eachRun(tx, func(id string, r *runRecord) error {
		runs[r.Runner], all = append(runs[r.Runner], aged{id, r.looked()}), all+1
		return nil
	})
	if err != nil {
		return err
	}
	if len(runs[runner]) < maxRunsEach && all >= maxRuns {
		for other := range runs {
			if len(runs[other]) > len(runs[runner]) {
				runner = other
			}
		}
	}
	own := runs[runner]
	slices.SortFunc(own, func(a, b aged) int { return cmp.Compare(b.looked, a.looked) })
	if n := len(own); n >= maxRunsEach || all >= maxRuns {
		if err := dropRun(tx, own[n-1].id); err != nil {
			return err
		}
		own = own[:n-1]
	}
	left := keepEvents
	for _, r := range own {
		for _, top := range [...][]byte{bucketEvents, bucketLost} {
			b, err := runBucket(tx, top, r.id, false)
			if b == nil || err != nil {
				continue
			}
			if left <= 0 {
				if err := tx.Bucket(top).DeleteBucket([]byte(r.id)); err != nil {
					return err
				}
				continue
			}
			n := b.Stats().KeyN
			if err := dropFirst(b, left); err != nil {
				return err
			}
			left -= min(n, left)
		}
	}
	return nil
}

// aged is a run and up to when it was read.
type aged struct {
	id     string
	looked int64
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
		old := slots.Get(p.key)
		if bytes.Equal(old, p.value) {
			continue
		}
		r.Bytes += int64(len(p.value) - len(old))
		if old == nil {
			r.Bytes += int64(len(p.key))
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
		if _, _, err := dropBelow(events, oldest, len(a.puts)+keepEvents); err != nil {
			return err
		}
	}
	r.Next, r.Events = a.next, true
	return nil
}

// dropBelow deletes keys below a bound, the lowest ones, most of them at most, and tells how many, and of how many bytes.
func dropBelow(b *bbolt.Bucket, bound []byte, most int) (n int, size int64, err error) {
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil && bytes.Compare(k, bound) < 0 && len(keys) < most; k, v = c.Next() {
		keys, size = append(keys, bytes.Clone(k)), size+int64(len(k)+len(v))
	}
	for _, k := range keys { // a cursor loses its place when its bucket is changed
		if err := b.Delete(k); err != nil {
			return 0, 0, err
		}
	}
	return len(keys), size, nil
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
