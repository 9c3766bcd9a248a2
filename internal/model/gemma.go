package model

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// lowerGemma lowers Gemma 1: an embedding scaled by the root of its width, GELU
// in the gate. Files carry norm weights with their 1 already added.
func lowerGemma(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, act: prog.GELU, read: readGemma}.lower(f, arch)
}

func readGemma(_ *keys, t *traits) {
	t.embedScale = float32(math.Sqrt(float64(t.Embd)))
}
