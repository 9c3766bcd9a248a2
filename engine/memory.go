package engine

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/backend"
)

// MemoryError is a model that does not fit: nothing was allocated for it. All sizes
// are bytes; a size beyond an int64 is math.MaxInt64.
type MemoryError struct {
	Weights, KV, Scratch int64 // needed for good
	Load                 int64 // needed beside Weights while they are loaded, and not after
	Available            int64

	Pages, Context int    // of the KV cache, and of a sequence: what KV and Scratch are for
	KVType         KVType // of the KV cache
	// The most KV pages with which it would fit, all else as it is, and the longest
	// context, with as many pages as that takes; 0: with none.
	FitPages, FitContext int
	FitKVTypes           []KVType // smaller element types of the KV cache with which it would fit, all else as it is

	file bool // it is one that has to be read into memory; nothing else is known
}

// Needed is the most memory that opening the model would take at a time.
func (e *MemoryError) Needed() int64 {
	return backend.Sum(e.Weights, max(e.Load, backend.Sum(e.KV, e.Scratch)))
}

// Biggest names the largest part: "weights", "KV cache", "scratch" or "loading".
func (e *MemoryError) Biggest() string {
	name, most := "weights", e.Weights
	for _, p := range []struct {
		name string
		size int64
	}{{"KV cache", e.KV}, {"scratch", e.Scratch}, {"loading", e.Load}} {
		if p.size > most {
			name, most = p.name, p.size
		}
	}
	return name
}

func (e *MemoryError) Error() string {
	if e.file {
		return fmt.Sprintf("engine: the model's file of %s would be read into memory and %s are available; open it by its path, which maps it, or use a smaller file", size(e.Weights), size(e.Available))
	}
	parts := fmt.Sprintf("weights %s, KV cache %s for %d pages in %v, scratch %s", size(e.Weights), size(e.KV), e.Pages, e.KVType, size(e.Scratch))
	if e.Needed() > backend.Sum(e.Weights, e.KV, e.Scratch) {
		parts += fmt.Sprintf(", before them %s while loading", size(e.Load))
	}
	return fmt.Sprintf("engine: the model needs %s (%s) and %s are available; the %s is the largest part; %s",
		size(e.Needed()), parts, size(e.Available), e.Biggest(), e.remedy())
}

// remedy is what to change, with numbers.
func (e *MemoryError) remedy() string {
	if backend.Sum(e.Weights, e.Load) > e.Available {
		return fmt.Sprintf("no option makes it fit: use a file of smaller weights or free %s", size(e.Needed()-e.Available))
	}
	var ways []string
	if e.FitContext > 0 && e.FitContext < e.Context {
		ways = append(ways, fmt.Sprintf("a MaxContext of at most %d instead of %d", e.FitContext, e.Context))
	}
	if e.FitPages > 0 && e.FitPages < e.Pages {
		ways = append(ways, fmt.Sprintf("at most %d KV pages instead of %d", e.FitPages, e.Pages))
	}
	if len(e.FitKVTypes) > 0 {
		ways = append(ways, fmt.Sprintf("a KVType of %v instead of %v", e.FitKVTypes[0], e.KVType))
	}
	if len(ways) == 0 {
		return "open it with lower Limits.MaxTokens and Limits.MaxSequences, which scratch grows with, or use a smaller file"
	}
	return "open it with " + strings.Join(ways, " or ")
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20 || n == 0:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// assumedMemory is what the default number of KV pages goes by where the system does
// not say what is available. Nothing is refused for it.
const assumedMemory = 4 << 30

// kvShare is the part of the memory left by weights and scratch that the default
// number of KV pages may take.
const kvShare = 0.5

// ownKVShare is kvShare of a device with memory of its own: nothing else of the
// process lives there.
const ownKVShare = 0.9
