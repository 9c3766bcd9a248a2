package nvml

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchedEvery   = 400 * time.Millisecond // while somebody watches
	unwatchedEvery = 2 * time.Second
	restAtLeast    = 50 * time.Millisecond // between two turns, however long one took
	openWait       = 10 * time.Second      // for the first turn
	closeWait      = 5 * time.Second       // for a call that blocks
)

// Poller samples all devices of the machine, as its one process that does. Its
// methods may be called by several goroutines at once, and never wait for the
// library, Close excepted.
type Poller struct {
	o     Options
	lock  *fileLock
	doing activity

	last     atomic.Pointer[Reading]
	watchers watchers

	quit     chan struct{} // closed by Close
	quitOnce sync.Once
	done     chan struct{} // closed when the thread has let go of library and lock

	closeWait time.Duration // how long Close waits

	// waiting: NewPoller still waits for the first turn, and takes its error.
	waiting atomic.Bool
	first   chan error
}

// NewPoller takes the machine's lock, opens the library and begins to sample; the
// first reading is there when it returns. The error is a *HeldError where another
// process polls, a *LockFileError where something else is in the lock's place, an
// *OpenError where there is no library that works. Where the
// library takes more than 10 s, as it may while a driver starts, the poller goes on
// without: its readings say so until the library has come.
//
// The lock is a file that every user of the machine locks: /run/lock, /dev/shm or
// /tmp holds it, on Windows the folder of all users' program data. A container that
// has folders of its own is a machine of its own here. The lock of a process that
// died is free.
func NewPoller(o Options) (*Poller, error) { return newPoller(o.withDefaults(), openWait) }

func newPoller(o Options, wait time.Duration) (*Poller, error) {
	lock, err := takeLock(o.LockPath)
	if err != nil {
		return nil, err
	}
	p := &Poller{o: o, lock: lock, closeWait: closeWait,
		quit: make(chan struct{}), done: make(chan struct{}), first: make(chan error, 1)}
	p.doing.quit = p.quit
	p.watchers.wake = make(chan struct{}, 1)
	p.waiting.Store(true)
	go p.run()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case err = <-p.first:
	case <-t.C:
		if p.waiting.CompareAndSwap(true, false) {
			what, since := p.doing.get()
			err := &BusyError{what, o.Clock.Now().Sub(since)}
			p.last.CompareAndSwap(nil, &Reading{Err: err})
			o.Logger.Warn("the GPUs are not known yet", "error", err)
			return p, nil
		}
		err = <-p.first
	}
	if err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// Latest is the last reading, and how old it is.
func (p *Poller) Latest() Reading {
	r := p.last.Load()
	if r == nil {
		return Reading{}
	}
	return p.aged(r)
}

// aged is a reading as it is handed out now.
func (p *Poller) aged(r *Reading) Reading {
	out := *r
	if !out.Time.IsZero() {
		out.Age = max(0, p.o.Clock.Now().Sub(out.Time))
	}
	return out
}

// publish makes a reading the last one.
func (p *Poller) publish(r *Reading) {
	p.last.Store(r)
	p.watchers.send(p.aged(r))
}

// Watch gives a channel that holds the newest reading, the last one at once, and what
// ends it. While it is not ended, the poller samples every 400 ms. A watcher that is
// slow misses readings and holds up nothing. The channel is closed at its end or the
// poller's.
func (p *Poller) Watch() (readings <-chan Reading, stop func()) {
	return p.watchers.add(p.Latest())
}

// Close ends the sampling, shuts the library down and frees the lock. It waits for a
// call that blocks, 5 s at most; then the error is a *BusyError, and all that is left
// is done as soon as the call returns. The lock is held until then, so that no other
// process polls meanwhile.
func (p *Poller) Close() error {
	p.quitOnce.Do(func() { close(p.quit) })
	p.watchers.close()
	t := time.NewTimer(p.closeWait)
	defer t.Stop()
	select {
	case <-p.done:
		return nil
	case <-t.C:
		what, since := p.doing.get()
		return &BusyError{what, p.o.Clock.Now().Sub(since)}
	}
}

// run is the thread that is in the library.
func (p *Poller) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	m := machine{o: p.o, doing: &p.doing, log: p.o.Logger}
	defer func() {
		if err := errors.Join(m.close(), p.lock.free()); err != nil {
			p.o.Logger.Warn("closing the GPUs' library", "error", err)
		}
		p.watchers.close()
	}()
	for first := true; ; first = false {
		begun := p.o.Clock.Now()
		r := m.turn(begun, p.publish)
		if first && p.waiting.CompareAndSwap(true, false) {
			if r.Err != nil {
				p.first <- r.Err
				return
			}
			p.last.Store(r)
			p.first <- nil
		}
		if p.doing.over() {
			return // the turn was cut short
		}
		p.publish(r)
		if !p.rest(begun) {
			return
		}
	}
}

// rest waits for the next turn; false: there is none.
func (p *Poller) rest(begun time.Time) bool {
	rested := p.o.Clock.Now().Add(restAtLeast)
	for {
		due := begun.Add(unwatchedEvery)
		if p.watchers.any() {
			due = begun.Add(watchedEvery)
		}
		if due.Before(rested) {
			due = rested
		}
		fires, stop := p.o.Clock.Timer(due.Sub(p.o.Clock.Now()))
		select {
		case <-p.quit:
			stop()
			return false
		case <-fires:
			return true
		case <-p.watchers.wake: // somebody watches now: the turn is due earlier
			stop()
		}
	}
}
