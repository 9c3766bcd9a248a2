package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerPhi3 lowers Phi 3 and 4: query, key and value in one matrix, gate and up in
// another. Files for long contexts bring two tables of rotary divisors, of which
// the context limit chooses one.
func lowerPhi3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, fusedUp: true, qkvBias: maybe, outBias: maybe, factors: true, read: readPhi3}.lower(f, arch)
}

func readPhi3(k *keys, t *traits) {
	t.readWindow(k, 0, 1, false)
	t.windowed = everywhere
}
