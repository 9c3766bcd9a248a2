package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerMistral3 lowers Mistral's models of late 2025: Llama's block, with queries
// that grow with the position beyond the length of the training.
func lowerMistral3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, outBias: maybe, ffnBias: maybe, factors: true,
		experts: true, feed: (*stream).feedExperts, read: readMistral3}.lower(f, arch)
}

func readMistral3(k *keys, t *traits) {
	t.scale = k.scaleOr("attention.scale", t.scale)
	if t.temp.Scale = k.numberOr("attention.temperature_scale", 0); t.temp.Scale != 0 {
		t.temp.Every = t.rope.original
	}
	readMixtral(k, t)
}
