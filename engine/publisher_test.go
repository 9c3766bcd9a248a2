package engine

import (
	"sync"
	"testing"

	"github.com/paddock-go/paddock/metrics"
)

// TestPublisherIsConsistent lets readers copy while a writer publishes states
// whose fields all hold one number; a torn copy would show two. Under -race it
// also shows that no copy overlaps a write.
func TestPublisherIsConsistent(t *testing.T) {
	p := &publisher{}
	const last = 20000
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var s metrics.Snapshot
			before := uint64(0)
			for before < last {
				p.Snapshot(&s)
				if s.Admitted != s.Preemptions || s.Admitted != s.PrefixQueries {
					t.Errorf("torn: %d, %d, %d", s.Admitted, s.Preemptions, s.PrefixQueries)
					return
				}
				if s.Admitted < before {
					t.Errorf("went back from %d to %d", before, s.Admitted)
					return
				}
				before = s.Admitted
			}
		})
	}
	for i := uint64(1); i <= last; i++ {
		b := p.next()
		b.s.Admitted, b.s.Preemptions, b.s.PrefixQueries = i, i, i
		p.publish(b)
	}
	wg.Wait()
	if len(p.buffers) > 6 { // 4 readers, the current one, the next one
		t.Errorf("%d buffers for 4 readers", len(p.buffers))
	}
	if n := testing.AllocsPerRun(50, func() { p.publish(p.next()) }); n != 0 {
		t.Errorf("%v allocations a publication, want 0", n)
	}
}
