package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/paddock-go/paddock/metrics"
)

// runRecord is what is known of one process of a runner.
//
//	Start          First                       Looked             Until
//	──┴──────────────┴───────────────────────────┴──────────────────┴──
//	  │   read later, from what the runner keeps │  not known       │ the next run
type runRecord struct {
	Runner string `json:"runner"`
	Start  int64  `json:"start_ms"`  // of the process, Unix milliseconds by the runner's clock, as all times here
	First  int64  `json:"first_ms"`  // when it was first looked at
	Looked int64  `json:"looked_ms"` // up to when everything is known, less the shift, so that it stays the same moment when the clock is set
	Until  int64  `json:"until_ms"`  // if not 0: another run answers, and what happened between Looked and here, less the shift, isn't known

	Shift  int64                `json:"shift"` // of the runner's answers: a slot is stored by its start less this
	Bytes  int64                `json:"bytes"` // of its slots
	Bounds metrics.RollupBounds `json:"bounds"`
	Open   [numGrains]int64     `json:"open"` // the oldest slot of each grain that may still change, as stored; 0: none was read

	Next   uint64 `json:"next"`   // event to ask for next
	Events bool   `json:"events"` // whether any page of events was read: without one, Next is the oldest there is
	Lost   uint64 `json:"lost"`   // events that the ring had lost before they were read
}

// looked and until are those moments by the runner's clock as it is set now.
func (r *runRecord) looked() int64 { return r.Looked + r.Shift*1000 }

func (r *runRecord) until() int64 {
	if r.Until == 0 {
		return 0
	}
	return r.Until + r.Shift*1000
}

// readRun returns the record of a run; nil: there is none.
func readRun(tx *bbolt.Tx, run string) (*runRecord, error) {
	b := tx.Bucket(bucketRuns).Get([]byte(run))
	if b == nil {
		return nil, nil
	}
	return parseRun(run, b)
}

func parseRun(run string, b []byte) (*runRecord, error) {
	r := new(runRecord)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%w (run %.64q: %v)", errDamaged, run, err)
	}
	return r, nil
}

// write stores the record, if it differs from what is there.
func (r *runRecord) write(tx *bbolt.Tx, run string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if bytes.Equal(tx.Bucket(bucketRuns).Get([]byte(run)), b) {
		return nil
	}
	return tx.Bucket(bucketRuns).Put([]byte(run), b)
}

// run returns a copy of a run's record, the zero record for one that isn't known.
func (h *history) run(id string) (r runRecord, err error) {
	err = h.view(func(tx *bbolt.Tx) error {
		got, err := readRun(tx, id)
		if got != nil {
			r = *got
		}
		return err
	})
	return r, err
}

// eachRun calls f for every run there is, in no order that means anything.
func eachRun(tx *bbolt.Tx, f func(id string, r *runRecord) error) error {
	return tx.Bucket(bucketRuns).ForEach(func(k, v []byte) error {
		r, err := parseRun(string(k), v)
		if err != nil {
			return err
		}
		return f(string(k), r)
	})
}

func sameBounds(a, b *metrics.RollupBounds) bool {
	return slices.Equal(a.Duration, b.Duration) && slices.Equal(a.FirstToken, b.FirstToken) && slices.Equal(a.PerToken, b.PerToken)
}

// sameRunError says that a run answers under two addresses: it is one runner, and counts once.
type sameRunError struct{ runner string }

func (e *sameRunError) Error() string {
	return fmt.Sprintf("this is the process that answers as runner %s: it counts there", e.runner)
}
