package fakedriver

import (
	"slices"

	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
)

// poison is what fresh pinned memory holds, and what is left of freed.
const poison = 0xa5

// memory is the card's: the interpreter's machine, and what was allocated of it.
type memory struct {
	machine     *ptxsim.Machine
	blocks      []block // by address
	total, used uint64
	bare        bool
}

// What the driver takes for itself, as parts of all memory.
const (
	ofContext = 64
	ofModule  = 4096
	ofGraph   = 65536
)

// take is what the driver takes; false where there is too little.
func (m *memory) take(part uint64) bool {
	if m.bare {
		return true
	}
	if m.total/part > m.total-m.used {
		return false
	}
	m.used += m.total / part
	return true
}

// giveBack undoes take.
func (m *memory) giveBack(part uint64) {
	if !m.bare {
		m.used -= m.total / part
	}
}

func newMemory(o *Options, bytes uint64) memory {
	return memory{
		machine: ptxsim.NewMachine(ptxsim.Options{Seed: o.Seed, MaxShared: o.card().SharedOptin}),
		total:   bytes, bare: o.Card.Bare,
	}
}

// alloc gives bytes, or false where there are too few.
func (m *memory) alloc(bytes uint64) (uint64, bool) {
	size := (bytes + granule - 1) / granule * granule
	if size < bytes || size > m.total-m.used {
		return 0, false
	}
	at, err := m.machine.Alloc(int64(bytes))
	if err != nil {
		return 0, false
	}
	m.used += size
	i, _ := m.search(at)
	m.blocks = slices.Insert(m.blocks, i, block{at, bytes})
	return at, true
}

// release gives back what begins at at.
func (m *memory) release(at uint64) bool {
	i, found := m.search(at)
	if !found || m.machine.Free(at) != nil {
		return false
	}
	m.used -= (m.blocks[i].bytes + granule - 1) / granule * granule
	m.blocks = slices.Delete(m.blocks, i, i+1)
	return true
}

func (m *memory) search(at uint64) (int, bool) {
	return slices.BinarySearchFunc(m.blocks, at, func(b block, at uint64) int {
		switch {
		case b.at < at:
			return -1
		case b.at > at:
			return 1
		}
		return 0
	})
}

// holds tells whether one allocation holds bytes from at on.
func (m *memory) holds(at, bytes uint64) bool {
	i, found := m.search(at)
	if !found {
		i--
	}
	if i < 0 {
		return false
	}
	b := m.blocks[i]
	return at-b.at <= b.bytes && bytes <= b.bytes-(at-b.at)
}

// move carries out a copy or a set.
func (m *memory) move(t *task) error {
	switch t.kind {
	case copyIn:
		return m.machine.Write(t.to, t.host)
	case copyOut:
		return m.machine.Read(t.from, t.host)
	case copyWithin:
		return m.machine.Copy(t.to, t.from, int64(t.bytes))
	}
	return m.machine.Fill(t.to, t.value, int64(t.bytes))
}

// launch runs a kernel.
func (m *memory) launch(t *task) error {
	return m.machine.Launch(t.fn.kernel, t.grid, t.block, t.shared, t.params)
}
