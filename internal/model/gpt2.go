package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGPT2 lowers GPT-2: learned positions, layer norms, biases everywhere, query,
// key and value in one matrix, a feed-forward without a gate.
func lowerGPT2(f file, arch string) (*Model, error) {
	return decoder{norm: prog.LayerNorm, normBias: true, qkvBiased: true, outBias: required, ffnBias: required,
		act: prog.GELU, ungated: true, read: readGPT2}.lower(f, arch)
}

func readGPT2(_ *keys, t *traits) {
	t.positions = true
	t.roped = nowhere
}
