package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
)

// spinTime is how long a worker watches for the next phase before it offers
// its processor between looks.
const spinTime = 20 * time.Microsecond

// Hardly an item takes lostTime: a worker that has waited so long waits, nearly
// always, for one whose processor was taken away, by another program. It sleeps, not in the runtime but
// in the system, which then has a processor free to run the other on.
const (
	lostTime = 150 * time.Microsecond
	napTime  = 50 * time.Microsecond
)

// phase is part of a step: items that workers take in any order, each done by
// one of them. All items are done before the next phase begins.
type phase struct {
	// items is how many there are in this step; it may prepare what run reads.
	// One goroutine calls it, before the phase.
	items func() int
	run   func(w *worker, item int)
	// grain says how many items a worker may take at once, in this step: 4 to the
	// power of 0 to 3. Called after items; nil: 0.
	grain func() int

	// For a profile: what it is, and what it takes at least in the step that is
	// on (nil: nothing that counts).
	name string
	cost func() Cost
}

// worker is what one goroutine of a step owns.
type worker struct {
	linear kern.LinearScratch
	attend *kern.AttendScratch
	args   kern.AttendArgs
	row    []float32 // a row of weights with its last block padded
	number int       // 0 is the caller of a step
	_      [lineBytes]byte
}

// pool runs the phases of a step on its caller and a fixed set of helpers.
//
// All that workers share is one word: which phase is on, its grain, how many items
// it has, and which is to be taken next.
//
//	│ phase + 1, 0: no step is on │ grain │ items │ next item │
//	63                           48      46      23           0
//
// A worker takes items by adding their number: of what is left a share, so that
// the word seldom travels between cores and all end together; at most as many as
// the grain says, since what a worker holds waits where its processor is taken
// away. Who finishes the last item of a phase
// opens the next one (and does phases of a single item itself), so that the
// step waits for work and never for a worker: a helper that the system does not
// run takes nothing and delays nothing.
type pool struct {
	phases  []phase
	workers []*worker // the caller's first
	wake    []chan struct{}
	exited  sync.WaitGroup
	fault   atomic.Pointer[error]
	crew    crew         // of the caller
	lost    atomic.Int64 // nanoseconds that workers of this step waited for one that did not run

	_     [lineBytes]byte
	state atomic.Uint64
	_     [lineBytes]byte
	done  atomic.Int64 // finished items of the phase that is on
	_     [lineBytes]byte
}

const (
	itemBits  = 23
	grainAt   = 2 * itemBits
	phaseAt   = grainAt + 2
	maxItems  = 1<<itemBits - 1 - 64*maxThreads // each worker may add its last share too many
	maxPhases = 1<<16 - 2
)

// taking is how many items a worker takes of a phase in state s.
func taking(s uint64, workers int) int {
	next, items := int(s&(1<<itemBits-1)), int(s>>itemBits&(1<<itemBits-1))
	return max(1, min((items-next)/(2*workers), 1<<(2*(s>>grainAt&3))))
}

func newPool(phases []phase, workers []*worker) *pool {
	p := &pool{phases: phases, workers: workers, crew: newCrew(len(workers) - 1)}
	for _, w := range workers[1:] {
		wake := make(chan struct{}, 1)
		p.wake = append(p.wake, wake)
		p.exited.Go(func() {
			debug.SetPanicOnFault(true) // weights may be a file's that is cut short: see guard
			for range wake {
				p.walk(w)
			}
		})
	}
	return p
}

// close ends the helpers and waits for them. No step may be on.
func (p *pool) close() {
	for _, wake := range p.wake {
		close(wake)
	}
	p.exited.Wait()
}

// step runs all phases. A panic in any worker comes back as an error, and the
// pool is then of no use any more.
func (p *pool) step() error {
	if err := p.fault.Load(); err != nil {
		return *err
	}
	w, start := p.workers[0], time.Now()
	p.begin(w)
	if p.state.Load()>>phaseAt != 0 {
		for _, wake := range p.wake[:p.crew.woken] {
			select {
			case wake <- struct{}{}:
			default: // it has not yet slept since the last step
			}
		}
		p.walk(w)
	}
	p.crew.stepped(time.Since(start), time.Duration(p.lost.Swap(0))/time.Duration(max(1, p.crew.woken))) // all the others wait for one
	if err := p.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// begin opens the first phase.
func (p *pool) begin(w *worker) {
	defer p.guard()
	p.open(w, 0)
}

// open does phases from number n on until one has several items, and opens
// that one to all, or ends the step.
func (p *pool) open(w *worker, n int) {
	for ; n < len(p.phases); n++ {
		switch items := p.phases[n].items(); {
		case items == 1:
			p.phases[n].run(w, 0)
		case items > maxItems:
			panic(fmt.Sprintf("cpu: phase %d has %d items", n, items))
		case items > 1:
			grain := 0
			if g := p.phases[n].grain; g != nil {
				grain = g()
			}
			p.done.Store(0)
			p.state.Store(uint64(n+1)<<phaseAt | uint64(grain)<<grainAt | uint64(items)<<itemBits)
			return
		}
	}
	p.state.Store(0)
}

// walk takes items until the step has ended.
func (p *pool) walk(w *worker) {
	defer p.guard()
	for {
		s := p.state.Load()
		if s>>phaseAt == 0 {
			return
		}
		if s = p.work(w); s == 0 {
			return
		}
		p.wait(s)
	}
}

// work takes items of the phase that is on until none are left, and returns
// the phase's part of the state, or 0 if the step has ended.
func (p *pool) work(w *worker) uint64 {
	finished := int64(0)
	for {
		// The phase can't change while this worker holds a finished item that
		// it has not counted, so all items of the loop are of one phase; before it
		// has one, the number may be meant for an earlier phase, which does no harm.
		take := taking(p.state.Load(), len(p.workers))
		s := p.state.Add(uint64(take))
		number := int(s >> phaseAt)
		if number == 0 {
			return 0
		}
		next, items := int(s&(1<<itemBits-1)), int(s>>itemBits&(1<<itemBits-1))
		from, to := next-take, min(next, items)
		for item := from; item < to; item++ {
			p.phases[number-1].run(w, item)
			finished++
		}
		if to > from {
			continue
		}
		if finished > 0 && p.done.Add(finished) == int64(items) {
			p.open(w, number)
		}
		return s >> phaseAt
	}
}

// wait returns when another phase is on, or none.
func (p *pool) wait(number uint64) {
	var start time.Time
	napped := false
	for spins := 0; ; spins++ {
		for range 32 {
			if p.state.Load()>>phaseAt != number {
				if napped {
					p.lost.Add(int64(time.Since(start)))
				}
				return
			}
			pause()
		}
		if spins == 0 {
			start = time.Now()
			continue
		}
		switch waited := time.Since(start); {
		case waited > lostTime:
			nap(napTime)
			napped = true
		case waited > spinTime:
			runtime.Gosched()
		}
	}
}

// guard turns a panic into the pool's fault and ends the step. The other
// workers see the end when they look for their next item.
func (p *pool) guard() {
	if r := recover(); r != nil {
		err := fmt.Errorf("cpu: a worker panicked: %v\n%s", r, debug.Stack())
		p.fault.CompareAndSwap(nil, &err)
		p.state.Store(0)
	}
}
