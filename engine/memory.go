package engine

import "fmt"

// MemoryError is a model that does not fit: nothing was allocated for it.
type MemoryError struct {
	Weights, KV, Scratch int64 // bytes needed
	Available            int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("engine: the model needs %s (weights %s, KV cache %s, scratch %s) and %s are available; open it with fewer KVPages, a shorter MaxContext or a smaller file",
		mib(e.Weights+e.KV+e.Scratch), mib(e.Weights), mib(e.KV), mib(e.Scratch), mib(e.Available))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// assumedMemory is what availableMemory answers where the system does not say.
const assumedMemory = 4 << 30

// kvShare is the part of available memory that the default number of KV pages
// may take.
const kvShare = 0.5
