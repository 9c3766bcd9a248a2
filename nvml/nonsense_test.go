package nvml

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A library that says there are more devices than there can be isn't asked for them,
// and is shut down.
func TestTooManyDevices(t *testing.T) {
	f := newFake(t, "claim 4294967295\n")
	if l, err := Open(f.options()); err == nil {
		t.Fatalf("%d devices", len(l.Devices()))
	} else if !strings.Contains(err.Error(), "4294967295 devices") {
		t.Error(err)
	}
	if n := f.calls("nvmlDeviceGetHandleByIndex_v2"); n != 0 {
		t.Errorf("%d devices were asked for", n)
	}
	f.say("return nvmlDeviceGetCount_v2 999\n")
	if _, err := Open(f.options()); err == nil {
		t.Error("a library without a count of devices")
	}
	if n := f.calls("nvmlShutdown"); n != 2 {
		t.Errorf("shut down %d times after two openings that failed", n)
	}
}

// Closing while devices are looked for waits for the one that is being asked.
func TestCloseWhileDevicesAreFound(t *testing.T) {
	noLeaks(t)
	f := newFake(t, "")
	const uuid = "nvmlDeviceGetUUID"
	hold, release := f.hold(uuid)
	defer release()
	f.say("devices 4\n" + hold)
	o := f.options()
	o.Library = append(o.Library, f.path) // nor is there a next candidate
	p, err := newPoller(o.withDefaults(), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	p.closeWait = time.Minute
	f.await(uuid, 0)
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	<-p.quit
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for call, want := range map[string]uint64{uuid: 1, "nvmlInit_v2": 1, "nvmlShutdown": 1} {
		if n := f.calls(call); n != want {
			t.Errorf("%s was called %d times, want %d", call, n, want)
		}
	}
}

// A list that is longer than any is given up, without room for it.
func TestListTooLong(t *testing.T) {
	f := newFake(t, "gpu 0 claim 131072\n")
	d := f.device()
	if s := f.sample(d); s.Processes.OK || !s.Temperature.OK {
		t.Errorf("processes %+v", s.Processes)
	}
	if n := f.calls("nvmlDeviceGetComputeRunningProcesses_v3"); n != 1 || cap(d.lists[0].room) > 0 {
		t.Errorf("%d calls, room for %d processes", n, cap(d.lists[0].room))
	}
}

// Bytes that are no text are replaced where they are read, in every field.
func TestTextIsClean(t *testing.T) {
	f := newFake(t, "driver 5\xff\ngpu 0 uuid GPU-\xfe\xff\ngpu 0 name Odd\xc3 name\ngpu 0 pci 0000\x80\n")
	p, _ := f.poll(f.options())
	i := p.Latest().Devices[0].Info
	if want := (Info{UUID: "GPU-\uFFFD", Name: "Odd\uFFFD name", PCI: "0000\uFFFD", Driver: "5\uFFFD", CUDA: i.CUDA, Compute: i.Compute, MemoryTotal: i.MemoryTotal}); i != want {
		t.Errorf("info %+v, want %+v", i, want)
	}
	text, n := pageOf(t, NewCollector(p))
	if n == 0 || !utf8.ValidString(text) {
		t.Errorf("%d values on the page", n)
	}
}

// C's unsigned long is too narrow on Windows for a count that doesn't wrap.
func TestWide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind uint32
		goos string
		want bool
	}{{kindUnsignedLong, "linux", true}, {kindUnsignedLong, "windows", false}, {kindUnsignedLongLong, "windows", true}, {1, "linux", false}} {
		if got := wide(c.kind, c.goos); got != c.want {
			t.Errorf("kind %d on %s: %v", c.kind, c.goos, got)
		}
	}
}

// A count that falls a little has not begun again, unless the library has.
func TestCountThatWavers(t *testing.T) {
	t.Parallel()
	var c total
	for _, step := range []struct {
		count, want float64
		anew        bool
	}{{1000, 1000, false}, {999, 1000, false}, {500, 1000, false}, {1001, 1001, false}, {499, 1500, false}, {498, 1998, true}, {497, 1998, false}} {
		c.anew = c.anew || step.anew
		c.add(some(step.count))
		if got := c.get(); got != some(step.want) {
			t.Errorf("total %v at %v, want %v", got.V, step.count, step.want)
		}
	}
}
