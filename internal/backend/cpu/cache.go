package cpu

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// cache is a runner's KV memory. A page is one or more groups of 16 tokens, and
// each layer holds, for every group of every page in order,
//
//	keys    [head] kern.KeyBytes      a lane is a token: scores
//	values  [head] kern.ValueBytes    a lane is a dimension: weighted sums
//
// A layer whose values begin its keys has no values of its own, one of states no
// keys.
// Pages are not cleared: who attends selects the positions it sees.
type cache struct {
	memory *memory
	layers []cacheLayer
	groups int // in a page
}

// cacheLayer is one layer's part. Sizes are bytes.
type cacheLayer struct {
	format           quant.Type
	keyDim, valueDim int // of a head; valueDim 0: values are in the keys

	keys, values           []byte
	keyHead, valueHead     int // of one head in a group
	keyStride, valueStride int // of a group, all heads
}

func newCache(p *prog.Program, l backend.Limits) (*cache, error) {
	mem, err := newMemory(backend.KVBytes(p, l))
	if err != nil {
		return nil, err
	}
	c := &cache{memory: mem, groups: l.PageSize / kern.GroupTokens}
	rest := mem.bytes
	cut := func(n int) []byte {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	groups := l.Pages * c.groups
	for i, kv := range p.KV {
		layer := cacheLayer{format: l.KVType.Layer(p, i), keyDim: kv.KeyDim, valueDim: kv.OwnValues()}
		layer.keyHead, layer.valueHead = kern.KeyBytes(layer.format, kv.KeyDim), kern.ValueBytes(layer.format, kv.OwnValues())
		layer.keyStride, layer.valueStride = kv.Heads*layer.keyHead, kv.Heads*layer.valueHead
		layer.keys, layer.values = cut(groups*layer.keyStride), cut(groups*layer.valueStride)
		c.layers = append(c.layers, layer)
	}
	return c, nil
}

// keysFrom is the keys of a head from its part of the first group on.
func (l *cacheLayer) keysFrom(head int) []byte { return l.keys[head*l.keyHead:] }

// valuesFrom is the same for values; nil where they are in the keys.
func (l *cacheLayer) valuesFrom(head int) []byte {
	if l.valueDim == 0 {
		return nil
	}
	return l.values[head*l.valueHead:]
}

// put writes the keys and values of all heads of one token to its slot; values is
// nil where they are in the keys.
func (l *cacheLayer) put(k *kern.Kernels, slot int, keys, values []float32) {
	group, token := slot/kern.GroupTokens, slot%kern.GroupTokens
	dst := l.keys[group*l.keyStride : (group+1)*l.keyStride]
	for ; len(keys) > 0; keys, dst = keys[l.keyDim:], dst[l.keyHead:] {
		k.StoreKey(dst, l.format, token, l.keyDim, keys)
	}
	dst = l.values[group*l.valueStride : (group+1)*l.valueStride]
	for ; len(values) > 0; values, dst = values[l.valueDim:], dst[l.valueHead:] {
		k.StoreValue(dst, l.format, token, l.valueDim, values)
	}
}

// stateOf is what a state layer keeps of the token in a slot: one head's value of
// float32, so that tokens lie one after the other.
func (l *cacheLayer) stateOf(slot int) []float32 {
	row := l.values[4*slot*l.valueDim : 4*(slot+1)*l.valueDim]
	return unsafe.Slice((*float32)(unsafe.Pointer(&row[0])), l.valueDim)
}

// copyPage copies one page in all layers.
func (c *cache) copyPage(from, to int) {
	for i := range c.layers {
		l := &c.layers[i]
		copyPart(l.keys, from, to, c.groups*l.keyStride)
		copyPart(l.values, from, to, c.groups*l.valueStride)
	}
}

func copyPart(b []byte, from, to, n int) { copy(b[to*n:(to+1)*n], b[from*n:(from+1)*n]) }
