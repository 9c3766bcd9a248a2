package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerPhi2 lowers Phi 1 and 2: attention and feed-forward beside one another,
// layer norms, biases everywhere, a part of each head rotates.
func lowerPhi2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, norm: prog.LayerNorm, normBias: true, parallel: true, outBias: required,
		ffnBias: required, headBias: required, act: prog.GELU, ungated: true}.lower(f, arch)
}
