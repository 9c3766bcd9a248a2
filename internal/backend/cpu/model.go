package cpu

import (
	"context"
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

	cached  cached
	keeping keeper // writes the cache
}

// keep writes the panels to their cache while the model is in use already. A failure
// costs the next Open its time, and nothing else.
func (m *model) keep(c *panelCache, src backend.Source) {
	_, sum, ok := src.(backend.Identified).Identity()
	if !ok || !c.of(sum) {
		c.log.Warn("the panel cache is not written", "why", "the model file has changed while it was loaded")
		m.cached = cacheUnfit
		return
	}
	m.keeping.start(func(ctx context.Context) {
		if err := c.write(ctx, m.memory.bytes); err != nil {
			c.log.Warn("the panel cache is not written", "file", c.path, "why", err)
		}
	})
}

// GiveUpPanels implements backend.PanelCached.
func (m *model) GiveUpPanels() { m.keeping.giveUp() }

// MappedBytes implements backend.PanelCached.
func (m *model) MappedBytes() int64 {
	if m.cached == cacheHit {
		return int64(len(m.memory.bytes))
	}
	return 0
}

// PanelCache implements backend.PanelCached.
func (m *model) PanelCache() (choice, why string) {
	switch m.cached {
	case cacheUnfit:
		return "none", "it is for GGUF files of the system, on Linux, that do not change meanwhile"
	case cacheMiss:
		return "being written", "it did not hold this file's panels"
	case cacheHit:
		return "mapped", "it held this file's panels"
	}
	return "", ""
}

// WeightBytes implements backend.Model.
func (m *model) WeightBytes() int64 { return m.bytes }

// RunnerBytes implements backend.Model.
func (m *model) RunnerBytes(l backend.Limits) (kv, scratch int64) {
	c := compile(m, l)
	return backend.KVBytes(m.prog, l), c.bytes(l)
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
// mistake and is refused: the runner would read memory that is gone. It waits
// keepWait for the panel cache that is being written, and then gives that up.
func (m *model) Close() error {
	if n := m.runners.Load(); n > 0 {
		return fmt.Errorf("cpu: the model still has %d open runners; close them first", n)
	}
	m.keeping.finish(keepWait)
	return m.memory.close()
}
