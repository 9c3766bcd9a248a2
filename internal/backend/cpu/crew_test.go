package cpu

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestCrew(t *testing.T) {
	const ms = time.Millisecond
	c := newCrew(1)
	steps := func(n int, lost time.Duration) (full int) {
		for range n {
			if c.woken == 1 {
				c.stepped(6*ms, lost)
				full++
			} else {
				c.stepped(4*ms, 0)
			}
		}
		return full
	}
	if steps(1000, ms) != 1000 {
		t.Error("a sixth lost sent the helper away")
	}
	if full := steps(2000, 3*ms); full > 2000/25 {
		t.Errorf("%d of 2000 steps woke a helper with which half of each is lost", full)
	}
	if full := steps(1000, 0); full < 1000-int(longPause/(4*ms)) {
		t.Errorf("%d of 1000 steps woke the helper after the neighbour had gone", full)
	}
	if c.pause != shortPause {
		t.Errorf("after calm steps a rest would take %d", c.pause)
	}

	// Of several, one goes at a time; one bad step, even a long one, is none.
	c = newCrew(3)
	c.stepped(time.Second, time.Second)
	if c.woken != 3 {
		t.Errorf("%d woken of 3 after one bad step", c.woken)
	}
	for range fewSteps {
		c.stepped(6*ms, 3*ms)
	}
	if c.woken != 2 {
		t.Errorf("%d woken of 3 after some bad steps", c.woken)
	}
	for range 1000 {
		c.stepped(6*ms, 6*ms)
		if c.woken < 0 || c.woken > 3 {
			t.Fatalf("%d woken of 3", c.woken)
		}
	}
}

// TestPoolRests: after steps that waited for a helper whose processor was taken,
// the next ones do without it, and then try it again.
func TestPoolRests(t *testing.T) {
	var helped atomic.Int64
	bad := true
	var p *pool
	p = newPool([]phase{{items: func() int {
		if bad && p.crew.woken > 0 {
			p.lost.Add(int64(time.Hour)) // as a worker notes that waited
		}
		return 2
	}, run: func(w *worker, _ int) {
		if w != p.workers[0] {
			helped.Add(1)
		}
	}}}, workers(2))
	defer p.close()
	step := func() {
		if err := p.step(); err != nil {
			t.Fatal(err)
		}
	}
	for range fewSteps {
		step()
	}
	if p.crew.woken != 0 {
		t.Fatal("hours were lost, and the helper is woken again")
	}
	bad = false
	p.crew.rest = time.Nanosecond // any step is longer
	step()
	if p.crew.woken != 1 {
		t.Error("the rest is over, and the helper is not woken")
	}
}
