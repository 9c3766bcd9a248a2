package metrics

import (
	"runtime"
	"sync/atomic"
	"time"
)

// gate lets writers into one of two halves and lets one reader at a time take the other half away from them. A writer never
// waits: entering is one atomic add, leaving another. The reader flips the halves and waits for the writers that were inside,
// who are a few hundred atomic adds from the end.
//
//	state: │ hot half (1 bit) │ writers that entered it since the flip (63 bits) │
//	left:  writers that left half 0, half 1
//
// Taking the whole of a request's observations behind one gate, and not one per histogram, makes every page whole: a request is
// in all its families or in none.
type gate struct {
	state atomic.Uint64
	_     [56]byte // the writers' entry and exit words on cache lines of their own
	left  [2]struct {
		n atomic.Uint64
		_ [56]byte
	}
}

const hotBit = 63

// enter returns the half that the writer may write until it calls leave with it.
func (g *gate) enter() int { return int(g.state.Add(1) >> hotBit) }

func (g *gate) leave(half int) { g.left[half].n.Add(1) }

// flip makes the other half hot and returns the cold one once its last writer has left. Only one goroutine at a time may call
// it; what it does with the cold half must be done before the next call.
func (g *gate) flip() int {
	hot := g.state.Load() >> hotBit
	old := g.state.Swap((hot ^ 1) << hotBit)
	entered := old &^ (1 << hotBit)
	for spins := 0; g.left[hot].n.Load() != entered; spins++ {
		if spins < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
	g.left[hot].n.Store(0)
	return int(hot)
}
