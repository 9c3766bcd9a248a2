package nvml

import (
	"runtime"
	"testing"
)

// However long a poller lives, it keeps one reading and its totals.
func TestPollerKeepsNothing(t *testing.T) {
	f := newFake(t, "devices 2\ngpu * compute 1 1000\ngpu * graphics 2 1000\n")
	p, c := f.poll(f.options())
	_, stop := p.Watch() // one who never reads
	defer stop()
	<-c.set
	heap := func(turns int) uint64 {
		for range turns {
			c.turn(t)
		}
		runtime.GC()
		runtime.GC() // pools are empty after the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	// What is kept grows in every window; what else the process does, in one or the other.
	const windows, turns, each = 4, 150, 64 // bytes in a turn
	last, least := heap(50), uint64(1<<62)
	for range windows {
		now := heap(turns)
		least = min(least, max(now, last)-last)
		last = now
	}
	if least > turns*each {
		t.Errorf("at least %d bytes more after each %d turns", least, turns)
	}
}

// BenchmarkTurn is a turn over one device, the library's time included; the fake one
// reads its script at each call.
func BenchmarkTurn(b *testing.B) {
	f := newFake(b, "gpu 0 compute 1 1000\n")
	o := f.options().withDefaults()
	m := machine{o: o, doing: new(activity), log: o.Logger}
	defer m.close()
	b.ReportAllocs()
	for b.Loop() {
		m.turn(o.Clock.Now(), func(*Reading) {})
	}
}
