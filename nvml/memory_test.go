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
	before := heap(50)
	after := heap(500)
	const most = 64 << 10 // what else the process may do meanwhile
	if after > before+most {
		t.Errorf("%d bytes more after 500 turns", after-before)
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
		m.turn(o.Clock.Now())
	}
}
