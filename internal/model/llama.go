package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerLlama lowers Llama 1 to 3 and what shares its files: Mistral, SmolLM,
// TinyLlama and others. Their query and key rows are stored so that the pairs
// that rotate are neighbours.
func lowerLlama(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, qkvBias: maybe, outBias: maybe, ffnBias: maybe, factors: true}.lower(f, arch)
}
