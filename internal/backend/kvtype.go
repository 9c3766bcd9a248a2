package backend

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// KVType is the element type of the KV cache: what keys and values are rounded to
// when they are stored. Attention computes in float32 over what is stored, this step's
// own keys included, so that no answer depends on which step computed what. The zero
// value is KVF16.
type KVType uint8

// The element types. KVF16 and KVBF16 take half of the memory of KVF32, KVQ8_0 a little
// more than a quarter.
const (
	KVF16  KVType = iota // 11 bits of precision; beyond 65504 a key or value is infinite: its request ends with an error where that makes a logit no number
	KVF32                // as computed
	KVBF16               // 8 bits of precision, the range of float32
	KVQ8_0               // 8 bits a value and a scale for each 32 values of a head

	numKVTypes
)

var kvTypes = [numKVTypes]struct {
	name   string
	format quant.Type
}{
	KVF16: {"f16", quant.F16}, KVF32: {"f32", quant.F32}, KVBF16: {"bf16", quant.BF16}, KVQ8_0: {"q8_0", quant.Q8_0},
}

// KVTypes lists the element types, the most precise first. Safe for concurrent use.
func KVTypes() []KVType { return []KVType{KVF32, KVF16, KVBF16, KVQ8_0} }

// Known tells whether t is one of the element types. Safe for concurrent use.
func (t KVType) Known() bool { return t < numKVTypes }

// String returns the name, as flags and metrics have it. Safe for concurrent use.
func (t KVType) String() string {
	if !t.Known() {
		return fmt.Sprintf("KVType(%d)", uint8(t))
	}
	return kvTypes[t].name
}

// MarshalText returns the name. Safe for concurrent use.
func (t KVType) MarshalText() ([]byte, error) {
	if !t.Known() {
		return nil, fmt.Errorf("backend: %v is no type of a KV cache", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a name.
func (t *KVType) UnmarshalText(name []byte) error {
	var names []string
	for _, k := range KVTypes() {
		if k.String() == string(name) {
			*t = k
			return nil
		}
		names = append(names, k.String())
	}
	return fmt.Errorf("the type of a KV cache is %q, must be one of: %s", name, strings.Join(names, ", "))
}

// For is the element type that p's keys and values have in a cache of type t: of an
// atomic program nothing outlives a step, and what takes no memory to speak of stays
// exact. Safe for concurrent use.
func (t KVType) For(p *prog.Program) KVType {
	if p.Atomic {
		return KVF32
	}
	return t
}

// Layer is the format of one layer of p's cache of type t: states, which are no keys
// or values of attention, stay float32. Safe for concurrent use.
func (t KVType) Layer(p *prog.Program, layer int) quant.Type {
	if p.KV[layer].State() {
		return quant.F32
	}
	return kvTypes[t.For(p)].format
}

// LayerBytes is what one token takes in one layer of p's cache of type t. Safe for
// concurrent use.
func (t KVType) LayerBytes(p *prog.Program, layer int) int64 {
	l, f := p.KV[layer], t.Layer(p, layer)
	return int64(l.Heads) * (int64(quant.KVBytes(f, l.KeyDim)) + int64(quant.KVBytes(f, l.OwnValues())))
}
