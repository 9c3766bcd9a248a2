package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// lowerGLM4 lowers GLM 4 of 2024 and later: norms around each half, half of each
// head rotates, gate and up in one matrix.
func lowerGLM4(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, norms: around, fusedUp: true, read: readGLM4}.lower(f, arch)
}

// readGLM4 refuses the vision models' rotation in sections.
func readGLM4(k *keys, _ *traits) {
	const sections = "rope.dimension_sections"
	if list, err := k.file.Ints(k.name(sections)); err == nil && len(list) > 1 && list[0] > 0 && list[1] > 0 {
		k.fail(k.name(sections), fmt.Sprint(list), "absent: rotation in sections is not supported", ErrUnsupported)
	}
}
