package nvml

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// poll makes a poller on a clock that moves when it is told to.
func (f *fake) poll(o Options) (*Poller, *fakeClock) {
	f.t.Helper()
	c := newFakeClock()
	o.Clock = c
	p, err := NewPoller(o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			f.t.Error(err)
		}
	})
	<-c.set // it rests
	return p, c
}

// watch is such a poller that somebody watches, who has had a first reading.
func (f *fake) watch() (*Poller, *fakeClock, <-chan Reading) {
	f.t.Helper()
	p, c := f.poll(f.options())
	readings, stop := p.Watch()
	f.t.Cleanup(stop)
	<-readings
	<-c.set // it plans anew
	return p, c, readings
}

// noLeaks holds the test to leave no goroutine, once all else of it is cleaned up.
func noLeaks(t *testing.T) {
	now := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, now) })
}

// turn lets time go on to the poller's next turn, and waits for the one after to be
// planned. It gives how long it was.
func (c *fakeClock) turn(t testing.TB) time.Duration {
	t.Helper()
	for len(c.set) > 0 {
		<-c.set
	}
	d, ok := c.next()
	if !ok {
		t.Fatal("the poller does not rest")
	}
	c.Advance(d)
	<-c.set
	return d
}

func TestPollerReads(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "devices 2\ngpu 0 temperature 61\ngpu 1 temperature 62\n")
	p, c := f.poll(f.options())
	r := p.Latest()
	if r.Err != nil || r.Stale() || r.Age != 0 || len(r.Devices) != 2 {
		t.Fatalf("first reading %+v", r)
	}
	for i, d := range r.Devices {
		if d.Info.Index != i || d.Lost != nil || d.Sample.Temperature != some(61+float64(i)) {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	f.say("devices 2\ngpu * temperature 70\n")
	c.Advance(time.Second)
	if again := p.Latest(); again.Age != time.Second || again.Devices[0].Sample.Temperature != some(61.0) {
		t.Errorf("a second later: age %v, %+v", again.Age, again.Devices[0].Sample.Temperature)
	}
	c.turn(t)
	if r := p.Latest(); r.Age != 0 || r.Devices[1].Sample.Temperature != some(70.0) {
		t.Errorf("after the next turn: age %v, %+v", r.Age, r.Devices[1].Sample.Temperature)
	}
	if n := f.threads(); n != 1 {
		t.Errorf("the library was called on %d threads", n)
	}
}

// 2 s apart, and 400 ms while somebody watches.
func TestPollerPace(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "gpu 0 temperature 1\n")
	p, c := f.poll(f.options())
	for range 3 {
		if d := c.turn(t); d != unwatchedEvery {
			t.Errorf("turn after %v unwatched", d)
		}
	}
	readings, stop := p.Watch()
	other, stopOther := p.Watch()
	<-c.set // it plans anew, once
	if r := <-readings; r.Devices[0].Sample.Temperature != some(1.0) {
		t.Errorf("first reading of a watcher: %+v", r.Devices)
	}
	f.say("gpu 0 temperature 2\n")
	for range 3 {
		if d := c.turn(t); d != watchedEvery {
			t.Errorf("turn after %v while watched", d)
		}
		if r := <-readings; r.Devices[0].Sample.Temperature != some(2.0) || r.Age != 0 {
			t.Errorf("reading of a watcher: %+v", r)
		}
	}
	// One who doesn't read has the newest, and held up nobody.
	if r := <-other; r.Time != p.Latest().Time {
		t.Errorf("the slow watcher has the reading of %v, want of %v", r.Time, p.Latest().Time)
	}
	stop()
	stop()
	if _, open := <-readings; open {
		t.Error("the channel is open after its end")
	}
	c.turn(t)
	if d, _ := c.next(); d != watchedEvery {
		t.Errorf("next turn in %v while one of two still watches", d)
	}
	stopOther()
	c.turn(t)
	if d, _ := c.next(); d != unwatchedEvery {
		t.Errorf("next turn in %v when nobody watches", d)
	}
}

func TestWatchEndsWithThePoller(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	p, _ := f.poll(f.options())
	readings, stop := p.Watch()
	<-readings
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	if _, open := <-readings; open {
		t.Error("the channel is open after the poller's end")
	}
	stop()
	late, stop := p.Watch()
	if _, open := <-late; open {
		t.Error("a channel of a poller that is closed")
	}
	stop()
}

// A lost device is marked, the others go on, and it is looked for ever more seldom.
func TestDeviceLostAndFound(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "devices 3\ngpu 1 energy_mj 5000\n")
	p, c := f.poll(f.options())
	f.say("devices 3\ngpu 1 lost 1\ngpu 2 energy_mj 7000\n")
	c.turn(t)
	r := p.Latest()
	var e *Error
	if d := r.Devices[1]; !errors.As(d.Lost, &e) || e.Code != GPULost || d.Info.UUID != "GPU-fake-1" || d.Sample.Energy != some(5.0) {
		t.Errorf("the lost device: %+v", d)
	}
	if r.Err != nil || r.Devices[0].Lost != nil || r.Devices[2].Lost != nil || r.Devices[2].Sample.Energy != some(7.0) {
		t.Errorf("the others: %v, %+v", r.Err, r.Devices)
	}
	// The library is initialised anew after 10 s, 20 s more, 40 s more, … and then every 5 min.
	var at []time.Duration
	inits := f.calls("nvmlInit_v2")
	for elapsed := time.Duration(0); elapsed < 20*time.Minute; {
		elapsed += c.turn(t)
		if n := f.calls("nvmlInit_v2"); n != inits {
			at, inits = append(at, elapsed), n
		}
		if r := p.Latest(); r.Devices[1].Lost == nil || r.Devices[0].Lost != nil || len(r.Devices) != 3 {
			t.Fatalf("at %v: %+v", elapsed, r.Devices)
		}
	}
	if want := []time.Duration{10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second, 610 * time.Second, 910 * time.Second}; !slices.Equal(at, want) {
		t.Errorf("initialised anew at %v, want %v", at, want)
	}
	f.say("devices 3\ngpu 1 energy_mj 4000\n")
	for range 300 { // 5 min at most
		if c.turn(t); p.Latest().Devices[1].Lost == nil {
			break
		}
	}
	// Its count began again: the total goes on.
	if d := p.Latest().Devices[1]; d.Lost != nil || d.Sample.Energy != some(4.0) || d.Totals.Energy != some(9.0) {
		t.Errorf("the device that came back: %+v", d)
	}
	inits = f.calls("nvmlInit_v2")
	for range 600 {
		c.turn(t)
	}
	if n := f.calls("nvmlInit_v2"); n != inits {
		t.Errorf("initialised %d times more with nothing lost", n-inits)
	}
}

// A device that can't be had from the start is shown as lost, by its index; one that
// this user may not see is not shown.
func TestDeviceMissingFromTheStart(t *testing.T) {
	f := newFake(t, "devices 3\ngpu 0 lost 1\ngpu 1 return nvmlDeviceGetHandleByIndex_v2 4\n")
	p, c := f.poll(f.options())
	r := p.Latest()
	if len(r.Devices) != 2 || r.Devices[0].Info.Index != 0 || r.Devices[0].Lost == nil || r.Devices[1].Info.Index != 2 || r.Devices[1].Lost != nil {
		t.Fatalf("devices %+v", r.Devices)
	}
	f.say("devices 3\n")
	for range 6 {
		c.turn(t)
	}
	if r := p.Latest(); len(r.Devices) != 3 || r.Devices[0].Lost != nil || r.Devices[0].Info.UUID != "GPU-fake-0" {
		t.Errorf("devices %+v once all are there", r.Devices)
	}
}

// Driver and library of different versions: an error at the start; in between, all
// devices are lost until the driver is whole again.
func TestVersionMismatch(t *testing.T) {
	f := newFake(t, "return nvmlInit_v2 18\n")
	_, err := NewPoller(f.options())
	var e *Error
	if !errors.As(err, new(*OpenError)) || !errors.As(err, &e) || e.Code != VersionMismatch {
		t.Fatalf("error %v, want a version mismatch", err)
	}
	f.say("devices 2\n")
	p, c := f.poll(f.options())
	f.say("devices 2\nreturn nvmlDeviceGetUtilizationRates 18\nreturn nvmlInit_v2 18\n")
	for range 2 {
		c.turn(t)
		r := p.Latest()
		if !errors.As(r.Err, &e) || e.Code != VersionMismatch || len(r.Devices) != 2 || r.Devices[0].Lost == nil || r.Devices[1].Lost == nil {
			t.Fatalf("reading %+v", r)
		}
	}
	f.say("devices 2\n")
	for range 6 {
		c.turn(t)
	}
	if r := p.Latest(); r.Err != nil || r.Devices[0].Lost != nil || r.Devices[1].Lost != nil {
		t.Errorf("reading %+v once the versions agree", r)
	}
}

// The next candidate is taken when a library loads and doesn't work.
func TestNextCandidate(t *testing.T) {
	bad, good := newFake(t, "return nvmlInit_v2 9\n"), newFake(t, "gpu 0 name good\n")
	o := good.options()
	o.Library = []string{"libpaddock-none.so.1", bad.path, good.path}
	p, _ := good.poll(o)
	if r := p.Latest(); len(r.Devices) != 1 || r.Devices[0].Info.Name != "good" {
		t.Errorf("reading %+v", r)
	}
	if n := bad.calls("nvmlDeviceGetCount_v2"); n != 0 {
		t.Errorf("the library that doesn't work was asked %d times", n)
	}
}

// Energy and ECC counts begin again with the driver, and rates become bytes: the
// totals never go down.
func TestTotalsNeverGoDown(t *testing.T) {
	f := newFake(t, "gpu 0 energy_mj 1000\ngpu 0 ecc_corrected 5\ngpu 0 pcie_rx_kbs 1000\ngpu 0 pcie_tx_kbs 0\n")
	p, c := f.poll(f.options())
	if got, want := p.Latest().Devices[0].Totals, (Totals{Energy: some(1.0), PCIeRx: some(0.0), PCIeTx: some(0.0), ECCCorrected: some(5.0), ECCUncorrected: some(0.0)}); got != want {
		t.Errorf("totals at the start %+v, want %+v", got, want)
	}
	c.turn(t)
	c.turn(t)
	f.say("gpu 0 energy_mj 300\ngpu 0 ecc_corrected 2\ngpu 0 pcie_rx_kbs 2000\ngpu 0 pcie_tx_kbs 4000\n")
	c.turn(t)
	if got, want := p.Latest().Devices[0].Totals, (Totals{Energy: some(1.3), PCIeRx: some(8e6), PCIeTx: some(8e6), ECCCorrected: some(7.0), ECCUncorrected: some(0.0)}); !near(got, want) {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	// A sample without a value leaves its total as it was.
	f.say("gpu 0 return nvmlDeviceGetTotalEnergyConsumption 999\ngpu 0 return nvmlDeviceGetPcieThroughput 999\n")
	for range 5 {
		c.turn(t)
	}
	if got := p.Latest().Devices[0].Totals; math.Abs(got.Energy.V-1.3) > 1e-9 || got.PCIeRx != some(8e6) {
		t.Errorf("totals %+v after samples without values", got)
	}
	// A rate stands for 4 s at most, so a gap is not made up.
	f.say("gpu 0 pcie_rx_kbs 1000\ngpu 0 pcie_tx_kbs 0\n")
	c.turn(t)
	if got := p.Latest().Devices[0].Totals; got.PCIeRx != some(12e6) {
		t.Errorf("bytes %+v after a gap of 12 s, want those of 4 s more", got.PCIeRx)
	}
}

func near(a, b Totals) bool {
	pairs := [][2]Opt[float64]{{a.Energy, b.Energy}, {a.PCIeRx, b.PCIeRx}, {a.PCIeTx, b.PCIeTx}, {a.ECCCorrected, b.ECCCorrected}, {a.ECCUncorrected, b.ECCUncorrected}}
	return !slices.ContainsFunc(pairs, func(p [2]Opt[float64]) bool { return p[0].OK != p[1].OK || math.Abs(p[0].V-p[1].V) > 1e-9 })
}

// The device's own count of bytes is the total, from where it stands.
func TestPCIeCount(t *testing.T) {
	f := newFake(t, "gpu 0 pcie_rx_bytes 5000000100\ngpu 0 pcie_tx_bytes 50\n")
	p, c := f.poll(f.options())
	f.say("gpu 0 pcie_rx_bytes 5000000400\ngpu 0 pcie_tx_bytes 50\n")
	c.turn(t)
	d := p.Latest().Devices[0]
	if got := d.Totals; got.PCIeRx != some(5000000400.0) || got.PCIeTx != some(50.0) {
		t.Errorf("totals %+v", got)
	}
	if s := d.Sample; s.PCIeRx != some(150.0) || s.PCIeTx != some(0.0) { // in 2 s
		t.Errorf("rates %+v, %+v", s.PCIeRx, s.PCIeTx)
	}
	// Counts that began again give no rate, and no total that goes down.
	f.say("gpu 0 pcie_rx_bytes 10\ngpu 0 pcie_tx_bytes 60\n")
	c.turn(t)
	if d := p.Latest().Devices[0]; d.Sample.PCIeRx.OK || d.Totals.PCIeRx != some(5000000410.0) || d.Totals.PCIeTx != some(60.0) {
		t.Errorf("rate %+v, totals %+v after the counts began again", d.Sample.PCIeRx, d.Totals)
	}
}

// Counts that are said to have 64 bits and begin again at 32 are no counts: they may do
// so more than once between two samples. Rates are measured from then on.
func TestPCIeCountOf32Bits(t *testing.T) {
	f := newFake(t, "gpu 0 pcie_rx_bytes 4294967000\ngpu 0 pcie_tx_bytes 50\n")
	p, c := f.poll(f.options())
	f.say("gpu 0 pcie_rx_bytes 4000000000\ngpu 0 pcie_tx_bytes 60\ngpu 0 pcie_rx_kbs 2000\ngpu 0 pcie_tx_kbs 1000\n")
	c.turn(t)
	if d := p.Latest().Devices[0]; d.Sample.PCIeRxBytes.OK || d.Sample.PCIeRx != some(2e6) || d.Totals.PCIeRx != some(4294967000.0) {
		t.Errorf("count %+v, rate %+v, total %+v", d.Sample.PCIeRxBytes, d.Sample.PCIeRx, d.Totals.PCIeRx)
	}
	asked := f.calls("nvmlDeviceGetFieldValues")
	c.turn(t)
	d := p.Latest().Devices[0]
	if got := d.Totals; d.Sample.PCIeRx != some(2e6) || got.PCIeRx != some(4294967000+4e6) || got.PCIeTx != some(50+2e6) { // in 2 s
		t.Errorf("rate %+v, totals %+v", d.Sample.PCIeRx, got)
	}
	if n := f.calls("nvmlDeviceGetFieldValues"); n != asked {
		t.Errorf("the count was asked for %d times more", n-asked)
	}
}
