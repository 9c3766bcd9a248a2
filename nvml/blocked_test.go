package nvml

import (
	"errors"
	"testing"
	"time"
)

const temperature = "nvmlDeviceGetTemperature"

// A call that blocks holds up no reader and no scrape; the reading's age is seen, and
// the metrics leave it out once it is stale.
func TestBlockedCall(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "gpu 0 power_mw 1000\n")
	p, c, readings := f.watch()
	collector := NewCollector(p)
	hold, release := f.hold(temperature)
	defer release()
	f.say(hold + "gpu 0 power_mw 2000\n")
	before := f.calls(temperature)
	c.Advance(watchedEvery)
	f.await(temperature, before)
	// All of this is done while the call lasts: the reading stays the one before.
	c.Advance(5 * time.Second)
	r := p.Latest()
	if r.Age != 5*time.Second+watchedEvery || r.Stale() || r.Devices[0].Sample.Power != some(1.0) {
		t.Errorf("reading while a call blocks: %+v", r)
	}
	if n := count(t, collector, "paddock_gpu_power_watts"); n != 1 {
		t.Errorf("%d values of a reading that is not stale", n)
	}
	c.Advance(5 * time.Second)
	if r := p.Latest(); !r.Stale() {
		t.Errorf("a reading of %v ago is not stale", r.Age)
	}
	if n := count(t, collector); n != 0 {
		t.Errorf("%d values of a stale reading", n)
	}
	select {
	case r := <-readings:
		t.Errorf("a reading came while the call blocked: %+v", r)
	default:
	}
	if what, _ := p.doing.get(); what != "sampling GPU 0" {
		t.Errorf("doing %q", what)
	}
	release()
	if r, ok := <-readings; !ok || r.Devices[0].Sample.Power != some(2.0) {
		t.Errorf("reading once the call returned: %+v", r)
	}
}

// Closing waits for a call that blocks for 2 s.
func TestCloseWhileACallBlocks(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	p, c := f.poll(f.options())
	p.closeWait = time.Minute // of a machine that is slow
	f.say("block nvmlDeviceGetTemperature 2000\n")
	before := f.calls(temperature)
	d, _ := c.next()
	c.Advance(d)
	f.await(temperature, before)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := f.calls("nvmlShutdown"); n != 1 {
		t.Errorf("the library was shut down %d times", n)
	}
}

// Closing waits for the call that is being made, and no other is made after it.
func TestCloseWaitsForOneCall(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "devices 4\n")
	p, c := f.poll(f.options())
	p.closeWait = time.Minute
	hold, release := f.hold(temperature)
	f.say("devices 4\n" + hold)
	before := f.calls(temperature)
	last := p.Latest().Time
	d, _ := c.next()
	c.Advance(d)
	f.await(temperature, before)
	calls := f.calls("*")
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	<-p.quit
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := f.calls("*") - calls; n != 1 || f.calls("nvmlShutdown") != 1 {
		t.Errorf("%d calls after closing, want the one that shuts the library down", n)
	}
	if p.Latest().Time != last {
		t.Error("a turn that was cut short was published")
	}
}

// Of a call that blocks for longer than Close waits, Close tells; library and lock are
// let go when it returns, not before.
func TestCloseTellsOfABlockedCall(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	p, c := f.poll(f.options())
	p.closeWait = 10 * time.Millisecond
	hold, release := f.hold(temperature)
	defer release()
	f.say(hold)
	before := f.calls(temperature)
	d, _ := c.next()
	c.Advance(d)
	f.await(temperature, before)
	var busy *BusyError
	if err := p.Close(); !errors.As(err, &busy) || busy.Doing != "sampling GPU 0" {
		t.Fatalf("error %v, want that the library is busy", err)
	}
	if _, err := NewPoller(f.options()); !errors.As(err, new(*HeldError)) {
		t.Errorf("another poller while the call blocks: %v", err)
	}
	release()
	<-p.done
	if f.calls("nvmlShutdown") != 1 {
		t.Error("the library was not shut down")
	}
	again, err := NewPoller(f.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A library that takes long to begin: the poller is there, and says so.
func TestSlowOpen(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	hold, release := f.hold("nvmlInit_v2")
	defer release()
	f.say(hold)
	o := f.options()
	p, err := newPoller(o.withDefaults(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	readings, stop := p.Watch()
	defer stop()
	if r := p.Latest(); !errors.As(r.Err, new(*BusyError)) || !r.Stale() {
		t.Errorf("reading %+v, want that the library is busy", r)
	}
	release()
	if r := <-readings; r.Err != nil || r.Stale() || len(r.Devices) != 1 {
		t.Errorf("reading %+v once it has begun", r)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// One that took long and then failed is tried again, as one that went away is.
func TestSlowOpenFails(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	hold, release := f.hold("nvmlInit_v2")
	defer release()
	f.say(hold + "return nvmlInit_v2 9\n")
	c := newFakeClock()
	o := f.options()
	o.Clock = c
	p, err := newPoller(o.withDefaults(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	release()
	<-c.set
	if r := p.Latest(); !errors.As(r.Err, new(*OpenError)) || len(r.Devices) != 0 {
		t.Errorf("reading %+v, want an OpenError", r)
	}
	f.say("")
	for range 6 {
		c.turn(t)
	}
	if r := p.Latest(); r.Err != nil || len(r.Devices) != 1 {
		t.Errorf("reading %+v once there is a driver", r)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
