package sample

import "math"

// entry is one token and its logit after bias and penalties.
type entry struct {
	key uint32 // ascending key = descending logit
	id  int32
}

// descending maps a logit to a key whose ascending order is the logits'
// descending order; -0 and +0 are one value.
func descending(x float32) uint32 {
	if x == 0 {
		x = 0
	}
	b := math.Float32bits(x)
	if b>>31 != 0 {
		return b
	}
	return ^b &^ (1 << 31)
}

// logit is the inverse of descending.
func (e entry) logit() float32 {
	if e.key>>31 != 0 {
		return math.Float32frombits(e.key)
	}
	return math.Float32frombits(^e.key &^ (1 << 31))
}

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// sortEntries sorts by key with the ids of equal keys in the order they came
// in (ascending, as rows are scanned): three counting passes of 11 bits, so that
// a vocabulary of any size costs a fixed number of passes. The result is in a,
// b is scratch of the same length.
func sortEntries(a, b []entry, count *[3][digits]uint32) []entry {
	*count = [3][digits]uint32{}
	for _, e := range a {
		count[0][e.key&(digits-1)]++
		count[1][e.key>>digitBits&(digits-1)]++
		count[2][e.key>>(2*digitBits)]++
	}
	for pass := range count {
		c := &count[pass]
		shift := pass * digitBits
		if len(a) > 0 && int(c[a[0].key>>shift&(digits-1)]) == len(a) {
			continue // one digit throughout: nothing would move
		}
		sum := uint32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, e := range a {
			d := e.key >> shift & (digits - 1)
			b[c[d]] = e
			c[d]++
		}
		a, b = b, a
	}
	return a
}
