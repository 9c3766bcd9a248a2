package main

import (
	"context"
	"time"

	"go.etcd.io/bbolt"
)

// How much one transaction of expire may drop: what it takes is bounded, whatever piled up.
const (
	expireSlots = 4096
	expireRuns  = 16
)

// expire drops what is too old. It is one short transaction after another, so that readings of runners go on in between.
func (h *history) expire(ctx context.Context) error {
	for ctx.Err() == nil {
		more := false
		err := h.update(func(tx *bbolt.Tx) (err error) {
			more, err = h.expireSome(tx)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// expireSome drops some of what is too old and tells whether there is more.
func (h *history) expireSome(tx *bbolt.Tx) (more bool, err error) {
	now := h.now().Unix()
	runs := map[string]*runRecord{} // they are few, and a bucket mustn't change while it is gone through
	if err := eachRun(tx, func(id string, r *runRecord) error { runs[id] = r; return nil }); err != nil {
		return false, err
	}
	slotsLeft, runsLeft := expireSlots, expireRuns
	for id, r := range runs {
		if slotsLeft <= 0 || runsLeft <= 0 {
			return true, nil
		}
		if end := max(r.Looked, r.Until) / 1000; end < grains[numGrains-1].oldest(now) {
			runsLeft--
			if err := dropRun(tx, id); err != nil {
				return false, err
			}
			continue
		}
		for g := range grains {
			slots, err := runBucket(tx, []byte(grains[g].name), id, false)
			if slots == nil || err != nil {
				continue
			}
			n, size, err := dropBelow(slots, startKey(grains[g].oldest(now)-r.Shift), slotsLeft)
			if err != nil {
				return false, err
			}
			if slotsLeft -= n; n > 0 {
				r.Bytes -= size
				if err := r.write(tx, id); err != nil {
					return false, err
				}
				if err := h.at("expired"); err != nil {
					return false, err
				}
			}
		}
	}
	return slotsLeft <= 0 || runsLeft <= 0, nil
}

// oldest is the start of the oldest slot that is kept at a time.
func (g *grain) oldest(now int64) int64 { return (now/g.step - g.keep) * g.step }

// expireEvery drops what is too old until ctx ends.
func (h *history) expireEvery(ctx context.Context, every time.Duration, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := h.expire(ctx); err != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
