package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerLlama lowers Llama 1 to 3 and what shares its files: Mistral, SmolLM,
// TinyLlama and others. Their query and key rows are stored so that the pairs
// that rotate are neighbours. Mixtral is Llama with experts.
func lowerLlama(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, outBias: maybe, ffnBias: maybe, factors: true,
		experts: true, feed: (*stream).feedExperts, read: readMixtral}.lower(f, arch)
}

// readMixtral reads experts as Mixtral has them, if there are any.
func readMixtral(k *keys, t *traits) {
	if k.countOr("expert_count", 0, 0, maxExperts) > 0 {
		t.moe = readExperts(k, expertSpec{norm: true}, t.FFN, 0)
	}
}
