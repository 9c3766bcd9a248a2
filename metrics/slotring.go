package metrics

// slotRing is one series at one grain: its newest slots, the oldest first, each a number (the time since 1970 in steps of the grain)
// and the series' values. Slots in which nothing happened aren't kept. The ring grows by doubling, never beyond its bound, and lets
// all of its memory go when its last slot has aged out.
//
//	words: │ number │ value 0 … value w−1 │ number │ …       slot i lies at (head + i) mod capacity
type slotRing struct {
	words   []uint64
	head, n int
}

// at returns slot i, number first. width is the number of words of a slot.
func (s *slotRing) at(i, width int) []uint64 {
	from := (s.head + i) % (len(s.words) / width) * width
	return s.words[from : from+width : from+width]
}

// open returns the slot with a number, which is the newest or newer; at most most slots stay.
func (s *slotRing) open(number uint64, width, most int) []uint64 {
	if s.n > 0 {
		if newest := s.at(s.n-1, width); newest[0] >= number { // a clock that goes back doesn't take the order along
			return newest
		}
	}
	if s.n == most {
		s.head = (s.head + 1) % most
		s.n--
	}
	if s.n*width == len(s.words) {
		s.grow(width, most)
	}
	s.n++
	slot := s.at(s.n-1, width)
	clear(slot)
	slot[0] = number
	return slot
}

func (s *slotRing) grow(width, most int) {
	words := make([]uint64, min(max(8, 2*s.n), most)*width)
	for i := range s.n {
		copy(words[i*width:], s.at(i, width))
	}
	s.words, s.head = words, 0
}

// drop forgets the slots below a number.
func (s *slotRing) drop(number uint64, width int) {
	for s.n > 0 && s.at(0, width)[0] < number {
		s.head = (s.head + 1) % (len(s.words) / width)
		s.n--
	}
	if s.n == 0 {
		s.words, s.head = nil, 0
	}
}

// copy returns the slots whose numbers are from ≤ number < to, one after another.
func (s *slotRing) copy(from, to uint64, width int) []uint64 {
	lo, hi := 0, s.n
	for lo < hi && s.at(lo, width)[0] < from {
		lo++
	}
	for lo < hi && s.at(hi-1, width)[0] >= to {
		hi--
	}
	words := make([]uint64, 0, (hi-lo)*width)
	for i := lo; i < hi; i++ {
		words = append(words, s.at(i, width)...)
	}
	return words
}
