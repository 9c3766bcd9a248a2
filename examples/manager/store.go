package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolt "go.etcd.io/bbolt/errors"
)

// history is what the manager remembers of its runners, in one bbolt file. A number is stored under what it is known by for good: the run
// (one process of a runner, a random id in each of its answers), the grain, the slot's start and the series. So to read a slot again
// replaces it, and nothing can count twice, whatever was read before a crash. What tells how far a run has been read lies in the same
// transaction as what was read.
//
//	meta    version
//	runs    run id → runRecord: whose it is, how far it has been read, what is missing after it
//	latest  runner id → the run that answered last
//	10s     run id → start │ operation │ origin │ model → counts      for an hour
//	1m      the same                                                  for a day
//	1h      the same                                                  for 90 days
//	events  run id → number → event                                   the newest of a run
//	lost    run id → number → how many events from there on the ring had lost
//
// The three grains are copies of the runner's own: none is computed from another, so there is nothing to compact, only to drop by age.
type history struct {
	db  *bbolt.DB
	now func() time.Time

	// live tells whether a runner is one that the manager watches now: a run belongs to the first of them that brings it.
	live func(runner string) bool

	// at, in tests, is called between any two steps of a transaction; an error ends it there, as a crash would.
	at func(step string) error
}

// storeVersion is the layout above.
const storeVersion = 1

// The top-level buckets besides the grains.
var (
	bucketMeta   = []byte("meta")
	bucketRuns   = []byte("runs")
	bucketLatest = []byte("latest")
	bucketEvents = []byte("events")
	bucketLost   = []byte("lost")
	keyVersion   = []byte("version")
)

// grain is a length of slots and how many are kept: as a runner has them.
type grain struct {
	name string
	step int64 // seconds
	keep int64 // slots
}

const numGrains = 3

var grains = [numGrains]grain{{"10s", 10, 360}, {"1m", 60, 24 * 60}, {"1h", 3600, 90 * 24}}

// openHistory opens the file in dir, or makes it. It may be open once at a time on a machine.
func openHistory(dir string, now func() time.Time) (*history, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the history's folder: %w", err)
	}
	path := filepath.Join(dir, "history.db")
	db, err := openDB(path)
	switch {
	case errors.Is(err, bolt.ErrTimeout):
		return nil, fmt.Errorf("the history %s is open in another process: is a manager running? Stop it, or give another --data folder", path)
	case err != nil:
		return nil, fmt.Errorf("the history %s can't be opened: %w; if it is damaged, move it away and a new one begins", path, err)
	}
	h := &history{db: db, now: now, live: func(string) bool { return true }, at: func(string) error { return nil }}
	if err := db.Update(h.layOut); err != nil {
		db.Close()
		return nil, fmt.Errorf("the history %s: %w", path, err)
	}
	return h, nil
}

// openDB opens a bbolt file. bbolt panics on some that are damaged.
func openDB(path string) (db *bbolt.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
}

func (h *history) layOut(tx *bbolt.Tx) error {
	names := [][]byte{bucketMeta, bucketRuns, bucketLatest, bucketEvents, bucketLost}
	for i := range grains {
		names = append(names, []byte(grains[i].name))
	}
	for _, name := range names {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	v := meta.Get(keyVersion)
	if v == nil {
		return meta.Put(keyVersion, binary.BigEndian.AppendUint32(nil, storeVersion))
	}
	if len(v) != 4 || binary.BigEndian.Uint32(v) != storeVersion {
		return fmt.Errorf("its layout is version %x, this program knows %d: use the program that wrote it, or move the file away", v, storeVersion)
	}
	return nil
}

func (h *history) close() error { return h.db.Close() }

// update is a transaction that changes something. A panic of bbolt's, which damage makes, is an error.
func (h *history) update(f func(*bbolt.Tx) error) (err error) {
	defer contain(&err)
	return h.db.Update(f)
}

// view is a transaction that reads.
func (h *history) view(f func(*bbolt.Tx) error) (err error) {
	defer contain(&err)
	return h.db.View(f)
}

// errDamaged is what a history is that doesn't read as it was written.
var errDamaged = errors.New("the history is damaged: stop the manager, move the file away, and a new one begins")

func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w (%v)", errDamaged, p)
	}
}

// runBucket is the bucket of a run within a top-level one; nil where there is none and make is false.
func runBucket(tx *bbolt.Tx, top []byte, run string, make bool) (*bbolt.Bucket, error) {
	b := tx.Bucket(top)
	if !make {
		return b.Bucket([]byte(run)), nil
	}
	return b.CreateBucketIfNotExists([]byte(run))
}

// dropRun forgets a run and all that is its.
func dropRun(tx *bbolt.Tx, run string) error {
	tops := [][]byte{bucketEvents, bucketLost}
	for i := range grains {
		tops = append(tops, []byte(grains[i].name))
	}
	for _, top := range tops {
		if err := tx.Bucket(top).DeleteBucket([]byte(run)); err != nil && !errors.Is(err, bolt.ErrBucketNotFound) {
			return err
		}
	}
	return tx.Bucket(bucketRuns).Delete([]byte(run))
}
