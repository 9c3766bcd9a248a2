package metrics

import "time"

// grain is a length of slots, and how many of them are kept: an hour, a day and 90 days, the slot in progress, and one more, so that
// who asks for an hour ago finds it also if the question takes a moment.
type grain struct {
	name string
	step time.Duration
	keep int
}

var grains = [...]grain{
	{"10s", 10 * time.Second, 360 + 2},
	{"1m", time.Minute, 24*60 + 2},
	{"1h", time.Hour, 90*24 + 2},
}

// slotsPerSeries is how many slots a series has at most, over all grains.
const slotsPerSeries = 360 + 24*60 + 90*24 + 6

// slotSeries is the slots of one (operation, origin, model), or of one model's engine, at every grain.
type slotSeries struct{ rings [len(grains)]slotRing }

// add merges values into the slots that are open at a time: the first maxima values by the larger one, the others by adding.
func (s *slotSeries) add(at uint64, values []uint64, maxima int) {
	for g := range grains {
		slot := s.rings[g].open(at/uint64(grains[g].step), len(values)+1, grains[g].keep)[1:]
		mergeSlot(slot, values, maxima)
	}
}

func mergeSlot(slot, values []uint64, maxima int) {
	for i, v := range values {
		if i < maxima {
			slot[i] = max(slot[i], v)
		} else {
			slot[i] += v
		}
	}
}

// age drops the slots that are too old at a time, and says whether any is left.
func (s *slotSeries) age(at uint64, width int) (left bool) {
	for g := range grains {
		s.rings[g].drop(grains[g].oldest(at), width)
		left = left || s.rings[g].n > 0
	}
	return left
}

// oldest is the number of the oldest slot that is kept at a time.
func (g *grain) oldest(at uint64) uint64 {
	newest := at / uint64(g.step)
	return newest - min(newest, uint64(g.keep-1))
}

// bytes is the memory of the slots.
func (s *slotSeries) bytes() int {
	n := 0
	for g := range s.rings {
		n += 8 * cap(s.rings[g].words)
	}
	return n
}
