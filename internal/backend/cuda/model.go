package cuda

import (
	"errors"
	"sync"

	"github.com/paddock-go/paddock/internal/backend"
)

// model is a loaded program. Its weights are given back when it and all its runners
// are closed, in whatever order.
type model struct {
	*plan
	memory *reservation

	mu      sync.Mutex
	holders int // the model itself if it is open, runners
	closed  bool
}

// NewRunner implements backend.Model.
func (m *model) NewRunner(l backend.Limits) (backend.Runner, error) {
	if err := l.Check(m.prog); err != nil {
		return nil, err
	}
	if err := m.hold(); err != nil {
		return nil, err
	}
	r, err := newRunner(m, l)
	if err != nil {
		return nil, errors.Join(m.device.short("a runner", err), m.drop())
	}
	return r, nil
}

func (m *model) hold() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	m.holders++
	return nil
}

// drop gives a share back; the last one ends the model.
func (m *model) drop() error {
	m.mu.Lock()
	m.holders--
	last := m.holders == 0
	m.mu.Unlock()
	if !last {
		return nil
	}
	var err error
	if m.memory != nil { // else a device that has no context need not make one
		err = m.device.use(m.memory.free)
	}
	return errors.Join(err, m.device.drop())
}

// Close implements backend.Model. Runners stay usable until they are closed
// themselves; a second call does nothing.
func (m *model) Close() error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	return m.drop()
}
