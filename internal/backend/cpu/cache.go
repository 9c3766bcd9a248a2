package cpu

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// cache is a runner's KV memory. A page is one or more groups of 16 tokens, and
// each layer holds, for every group of every page in order,
//
//	keys    [head][dim][16 tokens]     a lane is a token: scores
//	values  [head][16 tokens][dim]     a lane is a dimension: weighted sums
//
// A layer whose values begin its keys has no values of its own.
// Pages are not cleared: who attends selects the positions it sees.
type cache struct {
	memory *memory
	layers []cacheLayer
	groups int // in a page
}

// cacheLayer is one layer's part.
type cacheLayer struct {
	keys, values         []float32
	keyStride, valStride int // floats of a group, all heads
}

// cacheBytes is the memory of a cache.
func cacheBytes(p *prog.Program, l backend.Limits) int64 {
	return backend.KVBytes(p, l, 4)
}

func newCache(p *prog.Program, l backend.Limits) (*cache, error) {
	mem, err := newMemory(cacheBytes(p, l))
	if err != nil {
		return nil, err
	}
	c := &cache{memory: mem, groups: l.PageSize / kern.GroupTokens}
	rest := mem.floats()
	cut := func(n int) []float32 {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	groups := l.Pages * c.groups
	for _, kv := range p.KV {
		layer := cacheLayer{keyStride: kv.Heads * kv.KeyDim * kern.GroupTokens, valStride: kv.Heads * kv.OwnValues() * kern.GroupTokens}
		layer.keys = cut(groups * layer.keyStride)
		layer.values = cut(groups * layer.valStride)
		c.layers = append(c.layers, layer)
	}
	return c, nil
}

// valuesFrom is the values from a place of the first group on; nil where they are
// in the keys.
func (l *cacheLayer) valuesFrom(at int) []float32 {
	if l.valStride == 0 {
		return nil
	}
	return l.values[at:]
}

// put writes the keys and values of all heads of one token to its slot; values is
// nil where they are in the keys.
func (l *cacheLayer) put(slot int, keys, values []float32, heads int) {
	group, token := slot/kern.GroupTokens, slot%kern.GroupTokens
	// Key i of all heads in order is at i × 16, since [head][dim] is one run.
	dst := l.keys[group*l.keyStride : (group+1)*l.keyStride]
	for i, v := range keys {
		dst[i*kern.GroupTokens+token] = v
	}
	dst = l.values[group*l.valStride : (group+1)*l.valStride]
	dim := len(values) / heads
	for h := range heads {
		copy(dst[(h*kern.GroupTokens+token)*dim:][:dim], values[h*dim:])
	}
}

// copyPage copies one page in all layers.
func (c *cache) copyPage(from, to int) {
	for i := range c.layers {
		l := &c.layers[i]
		copyPart(l.keys, from, to, c.groups*l.keyStride)
		copyPart(l.values, from, to, c.groups*l.valStride)
	}
}

func copyPart(b []float32, from, to, n int) { copy(b[to*n:(to+1)*n], b[from*n:(from+1)*n]) }

// bytesOf sees floats as bytes; nil stays nil.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
