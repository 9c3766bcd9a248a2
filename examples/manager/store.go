package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
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
	db   *bbolt.DB
	path string
	now  func() time.Time

	// broken is closed once a part of the file that was read was not what bbolt wrote: nothing is read or written from then on.
	broken   chan struct{}
	breaking sync.Once

	// live tells whether a runner is one that the manager watches now: a run belongs to the first of them that brings it.
	live func(runner string) bool

	most     int64                // bytes that may be in use
	lookedAt map[string]time.Time // of each runner: when it was read last, by the manager's clock; for the transaction that writes

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
		return nil, err
	}
	h := &history{db: db, path: path, now: now, most: maxBytes, lookedAt: map[string]time.Time{}, broken: make(chan struct{}), live: func(string) bool { return true }, at: func(string) error { return nil }}
	if err = h.update(h.layOut); err == nil {
		err = h.view(func(tx *bbolt.Tx) error { return eachRun(tx, func(string, *runRecord) error { return nil }) })
	}
	if err != nil {
		h.close()
		if !errors.Is(err, errDamaged) {
			err = fmt.Errorf("the history %s: %w", path, err)
		}
		return nil, err
	}
	return h, nil
}

// openDB looks a bbolt file through and opens it. To look, it holds the lock as a reader does: another manager may be writing.
func openDB(path string) (db *bbolt.DB, err error) {
	defer contain(&err, path)()
	if info, e := os.Stat(path); e == nil && info.Size() > 0 {
		look, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
		if errors.Is(err, bolt.ErrTimeout) || errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		bad := checkFile(path)
		if err == nil {
			look.Close()
		}
		if bad != nil {
			return nil, damaged(path, bad)
		}
	}
	// The list of free pages is written, though that takes a little more: without it bbolt goes through the file for it whenever a
	// transaction fails, on a goroutine where nothing is caught.
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil && !errors.Is(err, bolt.ErrTimeout) {
		err = fmt.Errorf("the history %s can't be opened: %w", path, err)
	}
	return db, err
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

func (h *history) close() error {
	if h.isBroken() {
		return nil // bbolt may hold its own locks for good
	}
	return h.db.Close()
}

func (h *history) isBroken() bool {
	select {
	case <-h.broken:
		return true
	default:
		return false
	}
}

// update is a transaction that changes something.
func (h *history) update(f func(*bbolt.Tx) error) error { return h.transact(h.db.Update, f) }

// view is a transaction that reads.
func (h *history) view(f func(*bbolt.Tx) error) error { return h.transact(h.db.View, f) }

// transact runs a transaction. What damage makes of it, a panic of bbolt's or a page that isn't there any more, is an error, and the end
// of the history: bbolt doesn't say what it has done until then.
func (h *history) transact(how func(func(*bbolt.Tx) error) error, f func(*bbolt.Tx) error) (err error) {
	if h.isBroken() {
		return damaged(h.path, errors.New("found before"))
	}
	whole := false
	defer func() {
		if !whole {
			h.breaking.Do(func() { close(h.broken) })
		}
	}()
	defer contain(&err, h.path)()
	err = how(f)
	whole = true
	if errors.Is(err, errDamaged) { // a value, of one run: the others can be read
		return damaged(h.path, err)
	}
	return err
}

// errDamaged is what a history is that doesn't read as it was written.
var errDamaged = errors.New("what is read is not what was written")

func damaged(path string, what error) error {
	if !errors.Is(what, errDamaged) {
		what = fmt.Errorf("%w: %w", errDamaged, what)
	}
	return fmt.Errorf("the history %s is damaged: move it away and a new one begins (%w)", path, what)
}

// contain makes an error of a panic, and of an access to memory of a file that has become shorter, from now until what it returns is called.
func contain(err *error, path string) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = damaged(path, fmt.Errorf("%v", p))
		}
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
