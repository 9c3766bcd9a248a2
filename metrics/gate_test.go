package metrics

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// A flip returns the cold half only after the writer inside has left; writers that come meanwhile go to the other half at once.
func TestFlipWaitsForWritersInside(t *testing.T) {
	var g gate
	for round := range 4 {
		cold := g.enter()
		var flipped atomic.Bool
		done := make(chan int)
		go func() {
			half := g.flip()
			flipped.Store(true)
			done <- half
		}()
		for int(g.state.Load()>>hotBit) == cold {
			runtime.Gosched()
		}
		for range 1000 { // far more than a flip that doesn't wait needs to end
			hot := g.enter()
			g.leave(hot)
			if hot == cold {
				t.Fatal("a writer got into the half that is being taken away")
			}
			runtime.Gosched()
		}
		if flipped.Load() {
			t.Fatalf("round %d: the flip ended with a writer inside", round)
		}
		g.leave(cold)
		if half := <-done; half != cold {
			t.Fatalf("round %d: flip returned half %d, the writer was in %d", round, half, cold)
		}
	}
}
