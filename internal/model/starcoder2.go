package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerStarCoder2 lowers StarCoder 2: layer norms, biases everywhere, a
// feed-forward without a gate.
func lowerStarCoder2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, norm: prog.LayerNorm, normBias: true, outBias: maybe, ffnBias: maybe,
		act: prog.GELU, ungated: true}.lower(f, arch)
}
