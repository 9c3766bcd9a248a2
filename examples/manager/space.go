package main

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// maxBytes is how much of the history's file may be in use, in bytes. Nine tenths of it are for counts alone: events are what a reader
// misses least.
const maxBytes = 1 << 30

// errNoEvents says that a look was stored without its events.
var errNoEvents = errors.New("the history is nearly full: requests are counted, but no longer listed one by one")

// fullError says that nothing of a look was stored.
type fullError struct{ most int64 }

func (e *fullError) Error() string {
	return fmt.Sprintf("the history is full (%d MiB), and this runner has the most of it: nothing more of it is kept until some is too old", e.most>>20)
}

// used is how many bytes of the file hold something.
func (h *history) used(tx *bbolt.Tx) int64 {
	s := h.db.Stats()
	return tx.Size() - int64(s.FreePageN+s.PendingPageN)*int64(h.db.Info().PageSize)
}

// makeSpace tells whether there is too little space for events. If there is none at all, the runner that has the most loses the run that was
// looked at longest ago; it is that runner itself that may store nothing. So one that counts too much harms nobody else.
func (h *history) makeSpace(tx *bbolt.Tx, runner string) (full bool, err error) {
	used := h.used(tx)
	if used < h.most {
		return used >= h.most/10*9, nil
	}
	size, oldest := map[string]int64{}, map[string]aged{}
	err = eachRun(tx, func(id string, r *runRecord) error {
		size[r.Runner] += r.Bytes
		if o, ok := oldest[r.Runner]; !ok || r.looked() < o.looked {
			oldest[r.Runner] = aged{id, r.looked()}
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	largest := runner
	for other := range size {
		if size[other] > size[largest] {
			largest = other
		}
	}
	if largest == runner {
		return true, &fullError{h.most}
	}
	return true, dropRun(tx, oldest[largest].id)
}
