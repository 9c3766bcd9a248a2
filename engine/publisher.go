package engine

import (
	"sync/atomic"

	"github.com/paddock-go/paddock/metrics"
)

// publisher hands the loop's snapshots to any number of readers without a lock:
// the loop writes into a buffer that nobody looks at and then makes it the
// current one. A reader pins the current buffer, looks again whether it still is
// current, and copies.
//
//	current ─▶ [ B ]   pinned by two readers
//	           [ A ]   pinned by a slow reader of long ago
//	           [ C ]   free: the loop's next one
type publisher struct {
	current atomic.Pointer[published]
	buffers []*published // the loop's alone

	tooLong atomic.Uint64 // prompts that Submit refused by itself for their length
}

type published struct {
	readers atomic.Int32
	s       metrics.Snapshot
}

// next returns a buffer to fill. In a warm loop it allocates nothing.
func (p *publisher) next() *published {
	current := p.current.Load()
	for _, b := range p.buffers {
		// A reader that pins b from here on finds that b is not current and lets go
		// without looking.
		if b != current && b.readers.Load() == 0 {
			return b
		}
	}
	b := &published{}
	p.buffers = append(p.buffers, b)
	return b
}

// publish makes a filled buffer the current one.
func (p *publisher) publish(b *published) { p.current.Store(b) }

// Snapshot copies the current state; it is a metrics.Source and safe for
// concurrent use.
func (p *publisher) Snapshot(s *metrics.Snapshot) {
	for {
		b := p.current.Load()
		if b == nil {
			*s = metrics.Snapshot{}
			return
		}
		b.readers.Add(1)
		if p.current.Load() == b {
			*s = b.s
			b.readers.Add(-1)
			s.Rejected[metrics.RejectContextLength] += p.tooLong.Load()
			return
		}
		b.readers.Add(-1)
	}
}
