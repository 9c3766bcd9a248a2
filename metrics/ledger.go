package metrics

import (
	"math/bits"
	"sync/atomic"
)

// ledger is pushed numbers of a model: two halves of atomic words that writers add to, and the totals, which belong to whoever
// holds the recorder's scrape lock. A model's ledgers share its gate.
type ledger struct {
	*layout
	gate   *gate
	halves [2][]atomic.Uint64
	// Totals in 128 bits: nanoseconds of a thousand requests at a time fill 64 bits in seven months.
	lo, hi []uint64

	exemplars *exemplars // nil: none
	native    *native    // nil: none
}

func newLedger(l *layout, g *gate) *ledger {
	return &ledger{
		layout: l,
		gate:   g,
		halves: [2][]atomic.Uint64{make([]atomic.Uint64, l.size), make([]atomic.Uint64, l.size)},
		lo:     make([]uint64, l.size),
		hi:     make([]uint64, l.size),
	}
}

// take moves what was pushed into a cold half into the totals.
func (l *ledger) take(half int) {
	l.takeTraced(half)
	cold := l.halves[half]
	for i := range cold {
		v := cold[i].Load()
		if v == 0 {
			continue
		}
		cold[i].Store(0)
		var carry uint64
		l.lo[i], carry = bits.Add64(l.lo[i], v, 0)
		l.hi[i] += carry
	}
}

// total is word i as the page shows it.
func (l *ledger) total(i int) float64 {
	return float64(l.hi[i])*(1<<64) + float64(l.lo[i])
}

// observed says whether the histogram id whose words begin at base has an observation.
func (l *ledger) observed(base int, id histID) bool {
	at := base + l.at[id]
	for _, n := range l.lo[at : at+len(l.ladders[id].limits)+1] {
		if n > 0 {
			return true
		}
	}
	return false
}

// entry is one writer's stay in a half.
type entry struct {
	*ledger
	half  int
	cells []atomic.Uint64 // of the half
}

// in is a stay in half, which the writer has entered.
func (l *ledger) in(half int) entry { return entry{l, half, l.halves[half]} }

// observe adds n observations of v to the histogram id whose words begin at base; sum is what they add up to, which is not
// n·v where v was rounded.
func (e entry) observe(base int, id histID, v, n, sum uint64) {
	ladder, at := e.ladders[id], base+e.at[id]
	e.cells[at+ladder.bucket(v)].Add(n)
	e.cells[at+len(ladder.limits)+1].Add(sum)
}

func (e entry) observe1(base int, id histID, v uint64) { e.observe(base, id, v, 1, v) }
