package nvml

import "time"

// pcieGap is the longest time for which a measured rate is taken to have held.
const pcieGap = 2 * pcieEvery

// total makes of a count that may start again one that doesn't.
type total struct {
	sum, last float64
	seen      bool
	anew      bool // the library was opened anew since the last count
}

// add takes the device's count. After a start from zero, what it shows was added
// since; more may have been lost with the old one. A count that falls a little while
// the library stays open has not started again: it is as before until it rises.
func (t *total) add(count Opt[float64]) {
	if !count.OK {
		return
	}
	switch {
	case !t.seen:
		t.sum = count.V
	case count.V >= t.last:
		t.sum += count.V - t.last
	case !t.anew && count.V >= t.last/2:
		return
	default:
		t.sum += count.V
	}
	t.last, t.seen, t.anew = count.V, true, false
}

func (t *total) get() Opt[float64] { return Opt[float64]{t.sum, t.seen} }

// totals are those of a device, kept over its loss and return.
type totals struct {
	energy, rx, tx, corrected, uncorrected total

	rateAt time.Time // of the last rate that was added
}

// anew notes that the counts may have started again.
func (t *totals) anew() {
	for _, each := range []*total{&t.energy, &t.rx, &t.tx, &t.corrected, &t.uncorrected} {
		each.anew = true
	}
}

// add takes a sample.
func (t *totals) add(s *Sample) {
	t.energy.add(s.Energy)
	t.corrected.add(asFloat(s.ECCCorrected))
	t.uncorrected.add(asFloat(s.ECCUncorrected))
	t.rx.add(asFloat(s.PCIeRxBytes))
	t.tx.add(asFloat(s.PCIeTxBytes))
	t.addRates(s)
}

// addRates takes rates that were measured since those before.
func (t *totals) addRates(s *Sample) {
	if !s.PCIeRx.OK || !s.pcieAt.After(t.rateAt) {
		return
	}
	if !t.rateAt.IsZero() {
		held := min(s.pcieAt.Sub(t.rateAt), pcieGap).Seconds()
		t.rx.sum += s.PCIeRx.V * held
		t.tx.sum += s.PCIeTx.V * held
	}
	t.rx.seen, t.tx.seen, t.rateAt = true, true, s.pcieAt
}

func (t *totals) get() Totals {
	return Totals{t.energy.get(), t.rx.get(), t.tx.get(), t.corrected.get(), t.uncorrected.get()}
}

func asFloat(o Opt[uint64]) Opt[float64] { return Opt[float64]{float64(o.V), o.OK} }
