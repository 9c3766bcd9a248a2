package fakedriver

import (
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// Pace says when work that was put into a stream runs. A card may do it at any time
// between the call and a wait, in any order of the streams: a host that is right is
// right at every pace.
type Pace uint8

const (
	// Late is as late as can be: when somebody waits for it.
	Late Pace = iota
	// Early is before the call returns that put it there.
	Early
	// Whenever is at any call of any thread, some pieces of some streams, drawn by Seed.
	Whenever
)

// mostAtOnce bounds the pieces of work that one call does of itself.
const mostAtOnce = 4

// errEarlyFree and the others are what a host did wrong, where a card would read or
// write what is another's by then.
var (
	errEarlyFree   = errors.New("fakedriver: pinned memory is given back while work that uses it is queued")
	errEarlyUnload = errors.New("fakedriver: a module is unloaded while launches of it are queued")
	errChanged     = errors.New("fakedriver: the source of a copy was written to between the call and the copy")
)

// draw makes the generator of the pace.
func (o *Options) draw() *rand.Rand { return rand.New(rand.NewPCG(o.Seed, 0x9ace)) }

// proceed lets some of the queued work run, as the pace has it.
func (d *Driver) proceed() {
	if d.opts.Pace != Whenever || d.sticky != driver.Success {
		return
	}
	for range d.rng.IntN(mostAtOnce + 1) {
		d.forget()
		if len(d.order) == 0 {
			return
		}
		if s := d.order[d.rng.IntN(len(d.order))]; s.head < len(s.queue) && d.runOne(s) != driver.Success {
			return
		}
	}
}

// placed ends a call that put work somewhere. Where the work runs at once its error is
// the call's, as a card's may be.
func (d *Driver) placed(s *stream) driver.Result {
	if s.capture != nil && s.capture.spoilt {
		return captureInvalidated
	}
	if d.opts.Pace == Early {
		return d.drain()
	}
	d.proceed()
	return driver.Success
}

// forget drops the streams that were given back and have nothing left to do.
func (d *Driver) forget() {
	d.order = slices.DeleteFunc(d.order, func(s *stream) bool { return s.gone && s.head == len(s.queue) })
}

// queued tells whether some work that waits in a stream, or in a graph there, is ok.
func (d *Driver) queued(ok func(*task) bool) bool {
	for _, s := range d.order {
		for i := range s.queue[s.head:] {
			t := &s.queue[s.head+i]
			if ok(t) || t.kind == replay && slices.ContainsFunc(t.exec.tasks, func(t task) bool { return ok(&t) }) {
				return true
			}
		}
	}
	return false
}

// touches tells whether a piece of work reads or writes pinned memory.
func (t *task) touches(p *pinnedRange) bool {
	if len(t.host) == 0 {
		return false
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(t.host))) - uintptr(p.at)
	return off < uintptr(len(p.data))
}

var sourceSeed = maphash.MakeSeed()

// source notes what a copy's source holds at the call: nobody may write to it before
// the copy is done. A captured copy reads what is there when its graph runs.
func (t *task) source(s *stream, host []byte) {
	t.host = host
	if t.checked = s.capture == nil; t.checked {
		t.sum = maphash.Bytes(sourceSeed, host)
	}
}

// target makes rubbish of where a copy goes: nobody may read there before it is done.
func (t *task) target(s *stream, host []byte) {
	if t.host = host; s.capture != nil {
		return
	}
	for i := range host {
		host[i] = poison
	}
}

// unchanged tells whether a copy's source still is what it was.
func (t *task) unchanged() bool {
	return !t.checked || t.sum == maphash.Bytes(sourceSeed, t.host)
}
