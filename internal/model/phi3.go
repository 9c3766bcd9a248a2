package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerPhi3 lowers Phi 3 and 4: query, key and value in one matrix, gate and up in
// another. Files for long contexts bring two tables of rotary divisors, of which
// the context limit chooses one. Files name a window whose layers they don't say;
// it is not applied, as llama.cpp doesn't.
func lowerPhi3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, fusedUp: true, outBias: maybe, factors: true, read: readPhi3}.lower(f, arch)
}

func readPhi3(k *keys, t *traits) {
	if k.has(windowPattern) {
		t.readWindow(k, t.Layers, 0, 0, false)
	}
}
