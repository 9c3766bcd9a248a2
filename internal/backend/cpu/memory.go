package cpu

import (
	"fmt"
	"math"
	"unsafe"
)

// lineBytes is the alignment of what kernels stream: a cache line, and a vector
// of 16 floats.
const lineBytes = 64

// memory is zeroed memory outside the Go heap where the system has it, aligned
// to lineBytes: weights and the KV cache, which the collector should not count
// and whose untouched part costs nothing.
type memory struct {
	bytes []byte
	free  func() error
}

// newMemory returns n bytes.
func newMemory(n int64) (*memory, error) {
	if n < 0 || n > math.MaxInt-lineBytes {
		return nil, fmt.Errorf("%d bytes of memory are more than this platform can address", n)
	}
	if n == 0 {
		return &memory{}, nil
	}
	b, free, err := mapMemory(int(n))
	if err != nil {
		return nil, fmt.Errorf("no memory for %d bytes: %w", n, err)
	}
	return &memory{bytes: b, free: free}, nil
}

// heapMemory is memory of the Go heap, aligned.
func heapMemory(n int) []byte {
	b := make([]byte, n+lineBytes-1)
	skip := -uintptr(unsafe.Pointer(&b[0])) & (lineBytes - 1)
	return b[skip : int(skip)+n : int(skip)+n]
}

// heapFloats is n float32 of the Go heap, aligned.
func heapFloats(n int) []float32 {
	m := memory{bytes: heapMemory(4 * n)}
	return m.floats()
}

// close gives the memory back; a second call does nothing.
func (m *memory) close() error {
	free := m.free
	m.bytes, m.free = nil, nil
	if free == nil {
		return nil
	}
	return free()
}

// floats sees the memory as float32.
func (m *memory) floats() []float32 {
	if len(m.bytes) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&m.bytes[0])), len(m.bytes)/4)
}

// roundUp rounds n up to a multiple of to, a power of two.
func roundUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
