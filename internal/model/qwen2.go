package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerQwen2 lowers Qwen 2 and 2.5: biases on query, key and value, perhaps on the
// logits.
func lowerQwen2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, outBias: maybe, ffnBias: maybe, headBias: maybe}.lower(f, arch)
}
