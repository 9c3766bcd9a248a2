package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerPhi3 lowers Phi 3 and 4: query, key and value in one matrix, gate and up in
// another. Files for long contexts bring two tables of rotary divisors, of which
// the context limit chooses one. Files that name a window without its layers do not
// have it applied, as by llama.cpp.
func lowerPhi3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, fusedUp: true, outBias: maybe, factors: true}.lower(f, arch)
}
