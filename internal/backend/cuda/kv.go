package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// kvNames are the types of the KV cache that kernels have, as their names say them.
var kvNames = map[quant.Type]string{quant.F16: "f16", quant.BF16: "bf16", quant.F32: "f32"}

// kvName is the type of a layer of the cache.
func (r *rig) kvName(o prog.Op, layer int) (string, error) {
	t := r.limits.KVType.Layer(r.prog, layer)
	name, ok := kvNames[t]
	if !ok {
		return "", &UnsupportedError{What: "KV cache of type", Which: fmt.Sprint(r.limits.KVType),
			Remedy: "use f16, bf16 or f32 (--kv-cache-dtype f16), or run the model on the CPU (--device cpu)"}
	}
	return name, nil
}

// valuesOf is where a layer's values lie, and how far apart those of two tokens are
// within a head.
func (r *rig) valuesOf(layer int) (part kvPart, step int) {
	if kv := r.prog.KV[layer]; kv.Prefix {
		return r.layers[layer].keys, kv.KeyDim
	}
	return r.layers[layer].values, r.prog.KV[layer].ValueDim
}
