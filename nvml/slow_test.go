package nvml

import (
	"testing"
	"time"
)

// slowClock goes on by a second each time it is asked, as if what happens took long.
type slowClock struct{ *fakeClock }

func (c slowClock) Now() time.Time {
	c.Advance(time.Second)
	return c.fakeClock.Now()
}

// In a turn over 8 devices that takes longer than a sample is good for, each sample is
// shown once it is there.
func TestSlowTurn(t *testing.T) {
	f := newFake(t, "devices 8\n")
	o := f.options()
	o.Clock = slowClock{newFakeClock()}
	m := machine{o: o.withDefaults(), doing: new(activity), log: o.Logger}
	defer m.close()
	var shown []Reading
	last := m.turn(o.Clock.Now(), func(r *Reading) { shown = append(shown, *r) })
	if shown = append(shown, *last); len(shown) != 8 {
		t.Fatalf("%d readings of 8 devices", len(shown))
	}
	for i, r := range shown {
		if r.Stale() || !r.Current(i) || r.Time != r.Devices[i].Sample.Time {
			t.Errorf("reading %d is of %v, its newest sample of %v", i, r.Time, r.Devices[i].Sample.Time)
		}
		if _, ok := r.SampleAge(7); ok != (i == 7) {
			t.Errorf("reading %d: the last device's sample is there: %v", i, ok)
		}
	}
	if last.Current(0) {
		t.Error("the first device's sample is still current at the end of so long a turn")
	}
}

// A device that takes long holds up those after it and none before it.
func TestSlowDevice(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "devices 2\ngpu * power_mw 1000\n")
	p, c, readings := f.watch()
	collector := NewCollector(p)
	holdFirst, releaseFirst := f.hold(temperature)
	defer releaseFirst()
	const power = "nvmlDeviceGetPowerUsage"
	holdSecond, releaseSecond := f.hold(power)
	defer releaseSecond()
	f.say("devices 2\ngpu * power_mw 2000\ngpu 0 " + holdFirst + "gpu 1 " + holdSecond)
	before := f.calls(temperature)
	c.Advance(watchedEvery)
	f.await(temperature, before)
	c.Advance(time.Second)
	releaseFirst()
	r := <-readings
	if r.Age != time.Second || r.Devices[0].Sample.Power != some(2.0) || r.Devices[1].Sample.Power != some(1.0) {
		t.Errorf("reading while the second device takes long: %+v", r)
	}
	c.Advance(StaleAfter - watchedEvery - time.Second)
	if r := p.Latest(); r.Stale() || !r.Current(0) || r.Current(1) {
		t.Errorf("reading %v after the turn began: %+v", StaleAfter-watchedEvery, r)
	}
	if n := count(t, collector, "paddock_gpu_power_watts"); n != 1 {
		t.Errorf("%d devices are shown, want that whose sample is not stale", n)
	}
	releaseSecond()
	if r := <-readings; r.Devices[1].Sample.Power != some(2.0) {
		t.Errorf("reading at the end of the turn: %+v", r)
	}
}

// Between two turns there is a rest, however long the first took.
func TestRestAfterASlowTurn(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	_, c, _ := f.watch()
	hold, release := f.hold(temperature)
	defer release()
	f.say(hold)
	before := f.calls(temperature)
	c.Advance(watchedEvery)
	f.await(temperature, before)
	c.Advance(time.Minute)
	release()
	<-c.set
	if d, ok := c.next(); !ok || d != 50*time.Millisecond {
		t.Errorf("next turn in %v, %v", d, ok)
	}
}
