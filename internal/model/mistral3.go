package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerMistral3 lowers Mistral's models of late 2025: Llama's block, with queries
// that grow with the position beyond the length of the training.
func lowerMistral3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, qkvBias: maybe, outBias: maybe, ffnBias: maybe, factors: true, read: readMistral3}.lower(f, arch)
}

func readMistral3(k *keys, t *traits) {
	t.scale = k.positiveOr("attention.scale", t.scale)
	if t.temp.Scale = k.numberOr("attention.temperature_scale", 0); t.temp.Scale != 0 {
		t.temp.Every = k.count("rope.scaling.original_context_length", 1, 1<<31-1)
	}
}
