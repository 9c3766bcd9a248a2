package cpu

import "github.com/paddock-go/paddock/internal/backend"

// Poison fills a runner's cache with NaN: stale memory may hold anything.
func Poison(r backend.Runner) {
	c := r.(*runner).cache.memory.bytes
	for i := range c {
		c[i] = 0xff // a NaN in all floats, scales of Q8_0 included
	}
}

// CanMapPanels tells whether this system has a panel cache.
const CanMapPanels = canMapPanels

// Apart is how many spans the last step attended to apart, over all shapes of
// attention.
func Apart(r backend.Runner) (n int) {
	for i := range r.(*runner).visits {
		n += len(r.(*runner).visits[i].spans)
	}
	return n
}
