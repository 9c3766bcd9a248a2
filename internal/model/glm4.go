package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGLM4 lowers GLM 4 of 2024 and later: norms around each half, half of each
// head rotates, gate and up in one matrix.
func lowerGLM4(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, norms: around, qkvBias: maybe, fusedUp: true}.lower(f, arch)
}
