package nvml

import "time"

// StaleAfter is the age from which a sample is too old to be shown as the present:
// five turns of a poller that nobody watches.
const StaleAfter = 10 * time.Second

// Reading is what a [Poller] knows of all devices. One is made in each turn over them,
// and more in a turn that takes long: the devices' samples are then of different times.
// It is never changed afterwards: readers share its slices.
type Reading struct {
	Time time.Time     // of the newest sample; where none could be taken, of the try; zero before the first
	Age  time.Duration // since Time, when the reading was handed out
	// Err says why no device can be asked: the library could not be opened anew. The
	// devices are then those that were known, all lost.
	Err     error
	Devices []DeviceReading // by index, lost ones included
}

// Stale tells whether nothing in the reading is the present: the poller is closed, or
// a device takes very long.
func (r Reading) Stale() bool { return r.Time.IsZero() || r.Age >= StaleAfter }

// SampleAge is how old device i's sample was when the reading was handed out; false:
// it has none yet.
func (r Reading) SampleAge(i int) (time.Duration, bool) {
	at := r.Devices[i].Sample.Time
	return r.Time.Add(r.Age).Sub(at), !at.IsZero()
}

// Current tells whether device i's sample is the present: the device is there and its
// sample not stale.
func (r Reading) Current(i int) bool {
	age, ok := r.SampleAge(i)
	return ok && age < StaleAfter && r.Devices[i].Lost == nil
}

// DeviceReading is a device in one reading.
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
