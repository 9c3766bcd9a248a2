package cpu

import (
	"math"

	"github.com/paddock-go/paddock/internal/backend"
)

// Poison fills a runner's cache with NaN: stale memory may hold anything.
func Poison(r backend.Runner) {
	c := r.(*runner).cache.memory.floats()
	for i := range c {
		c[i] = float32(math.NaN())
	}
}

// CanMapPanels tells whether this system has a panel cache.
const CanMapPanels = canMapPanels
