package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerQwen3 lowers Qwen 3: each head's query and key is normalised before it
// rotates, no biases.
func lowerQwen3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, qkNorm: eachHead}.lower(f, arch)
}
