package fakedriver

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// TestPaces: at every pace a host that waits gets the same, streams that wait for each
// other among them; a stream that was given back does its work all the same.
func TestPaces(t *testing.T) {
	for seed := range uint64(30) {
		for _, pace := range []Pace{Late, Early, Whenever} {
			r := newRig(t, Options{Pace: pace, Seed: seed})
			f := r.load(testPTX, "add_to")
			a, b := r.alloc(64), r.alloc(64)
			p, q := r.pinned(16), r.pinned(16)
			var side driver.Stream
			r.ok(r.t.StreamCreate(&side, driver.StreamNonBlocking))
			var there, back driver.Event
			r.ok(r.t.EventCreate(&there, driver.EventNoTiming))
			r.ok(r.t.EventCreate(&back, driver.EventNoTiming))
			for round := range uint32(3) {
				for i := range p {
					p[i] = 100*round + uint32(i)
				}
				r.ok(r.in(a, p))
				r.ok(r.h.EventRecord(there, r.stream))
				r.ok(r.d.streamWaitEvent(side, there, 0))
				r.ok(r.h.MemcpyDtoDAsync(b, a, 64, side))
				r.ok(r.h.EventRecord(back, side))
				r.ok(r.d.streamWaitEvent(r.stream, back, 0))
				r.ok(r.add(f, a, b, 7, 16))
				r.ok(r.out(q, a))
				r.ok(r.h.StreamSynchronize(r.stream))
				for i := range q {
					if q[i] != 100*round+uint32(i)+7 {
						t.Fatalf("pace %d, seed %d, round %d: value %d is %d", pace, seed, round, i, q[i])
					}
				}
			}
			r.ok(r.h.MemsetD8Async(b, 1, 64, side))
			r.ok(r.h.EventRecord(back, side))
			r.ok(r.t.StreamDestroy(side))
			r.ok(r.h.EventSynchronize(back))
			r.ok(r.out(q, b))
			r.ok(r.h.StreamSynchronize(r.stream))
			if q[3] != 0x01010101 {
				t.Fatalf("pace %d: a stream that was given back did not do its work: %#x", pace, q[3])
			}
		}
	}
}

// TestPaceDiffers: streams in no order with each other come in any.
func TestPaceDiffers(t *testing.T) {
	seen := map[uint32]bool{}
	early := false
	for seed := range uint64(50) {
		r := newRig(t, Options{Pace: Whenever, Seed: seed})
		a, q := r.alloc(4), r.pinned(1)
		var side driver.Stream
		r.ok(r.t.StreamCreate(&side, driver.StreamNonBlocking))
		r.ok(r.h.MemsetD8Async(a, 1, 4, r.stream))
		r.ok(r.h.MemsetD8Async(a, 2, 4, side))
		r.ok(r.h.StreamSynchronize(side))
		r.ok(r.h.StreamSynchronize(r.stream))
		r.ok(r.out(q, a))
		early = early || q[0] != 0xa5a5a5a5
		r.ok(r.h.StreamSynchronize(r.stream))
		seen[q[0]] = true
	}
	if len(seen) != 2 || !early {
		t.Errorf("of two sets in two streams the last left %v; something was done before a wait: %v", seen, early)
	}
}

// TestHostsMistakes: what is wrong on a card only at times is found always.
func TestHostsMistakes(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig, a driver.DevicePtr, p, q []uint32)
		want error
	}{
		{"the source of a copy is written to", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			r.ok(r.in(a, p))
			p[2]++
			r.h.StreamSynchronize(r.stream)
		}, errChanged},
		{"the source is given back", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			r.ok(r.in(a, p[1:3]))
			r.t.MemFreeHost(unsafe.Pointer(&p[0]))
		}, errEarlyFree},
		{"where a copy goes is given back", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			r.ok(r.out(q[3:], a))
			r.t.MemFreeHost(unsafe.Pointer(&q[0]))
		}, errEarlyFree},
		{"a stream with a copy is given back, and then its source", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			r.ok(r.in(a, p))
			r.ok(r.t.StreamDestroy(r.stream))
			r.t.MemFreeHost(unsafe.Pointer(&p[0]))
		}, errEarlyFree},
		{"a graph's memory is given back", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			var g driver.Graph
			var x driver.GraphExec
			r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
			r.ok(r.in(a, p))
			r.ok(r.t.StreamEndCapture(r.stream, &g))
			r.ok(r.t.GraphInstantiate(&x, g, 0))
			r.ok(r.h.GraphLaunch(x, r.stream))
			r.t.MemFreeHost(unsafe.Pointer(&p[0]))
		}, errEarlyFree},
		{"a module is unloaded", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			f := r.load(testPTX, "add_to")
			r.ok(r.add(f, a, a, 1, 4))
			for m := range r.d.modules {
				r.t.ModuleUnload(m)
			}
		}, errEarlyUnload},
		{"nothing", func(r *rig, a driver.DevicePtr, p, q []uint32) {
			r.ok(r.in(a, p[1:3]))
			r.ok(r.h.StreamSynchronize(r.stream))
			p[1]++
			r.ok(r.in(a, p))
			r.ok(r.out(q, a))
			if !slices.Equal(q, slices.Repeat([]uint32{0xa5a5a5a5}, len(q))) {
				t.Error("a result is there before it was waited for")
			}
			r.ok(r.t.StreamDestroy(r.stream))
			r.ok(r.t.MemFree(a)) // which waits for all
			r.ok(r.t.MemFreeHost(unsafe.Pointer(&p[0])))
		}, nil},
	} {
		r := newRig(t, Options{})
		c.do(r, r.alloc(64), r.pinned(4), r.pinned(4))
		if err := r.d.Fault(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
