package cpu

import (
	"fmt"
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// model is a loaded program. Runners share it; it must outlive them.
type model struct {
	device  *Device
	kernels *kern.Kernels
	prog    *prog.Program
	weights []weight
	memory  *memory
	bytes   int64
	runners atomic.Int64 // open ones
}

// WeightBytes implements backend.Model.
func (m *model) WeightBytes() int64 { return m.bytes }

// RunnerBytes implements backend.Model.
func (m *model) RunnerBytes(l backend.Limits) (kv, scratch int64) {
	c := compile(m, l)
	return cacheBytes(m.prog, l), c.bytes(l)
}

// NewRunner implements backend.Model.
func (m *model) NewRunner(l backend.Limits) (backend.Runner, error) {
	if err := l.Check(m.prog); err != nil {
		return nil, err
	}
	cache, err := newCache(m.prog, l)
	if err != nil {
		return nil, fmt.Errorf("cpu: KV cache of %d pages of %d tokens: %w", l.Pages, l.PageSize, err)
	}
	m.runners.Add(1)
	return newRunner(m, l, cache), nil
}

// Close implements backend.Model. Closing under a runner is the caller's
// mistake and is refused: the runner would read memory that is gone.
func (m *model) Close() error {
	if n := m.runners.Load(); n > 0 {
		return fmt.Errorf("cpu: the model still has %d open runners; close them first", n)
	}
	return m.memory.close()
}
