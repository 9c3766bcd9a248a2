package nvml

import "time"

// StaleAfter is the age from which a reading is too old to be shown as the present:
// five turns of a poller that nobody watches.
const StaleAfter = 10 * time.Second

// Reading is what a [Poller] learnt in one turn over all devices. It is never changed
// afterwards: readers share its slices.
type Reading struct {
	Time time.Time     // when the turn began; zero before the first
	Age  time.Duration // since Time, when the reading was handed out
	// Err says why no device can be asked: the library could not be opened anew. The
	// devices are then those that were known, all lost.
	Err     error
	Devices []DeviceReading // by index, lost ones included
}

// Stale tells whether the reading is no longer the present: the poller is closed, or a call
// into the library has not returned for long.
func (r Reading) Stale() bool { return r.Time.IsZero() || r.Age >= StaleAfter }

// DeviceReading is a device in one turn.
type DeviceReading struct {
	Info   Info
	Sample Sample // the last one where the device is lost
	Totals Totals
	// Lost says why the device can't be asked: nil while it can. Its sample is then of
	// an earlier time.
	Lost error
}

// Totals are counts that never go down while the poller lives. The device's own
// start again when the driver is loaded anew; these go on.
type Totals struct {
	Energy Opt[float64] // joules
	// PCIeRx and PCIeTx are bytes: the device's own count where it has one; else what
	// its rates come to, each taken for the time since the rate before it, or for 4 s
	// where more went by. That is an estimate, from 0 at the poller's start.
	PCIeRx, PCIeTx               Opt[float64]
	ECCCorrected, ECCUncorrected Opt[float64]
}
