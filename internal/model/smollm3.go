package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerSmolLM3 lowers SmolLM 3: Llama's block, and every fourth layer does not
// rotate.
func lowerSmolLM3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, outBias: maybe, ffnBias: maybe, read: readSmolLM3}.lower(f, arch)
}

func readSmolLM3(_ *keys, t *traits) {
	t.roped = func(l int) bool { return (l+1)%4 != 0 }
}
