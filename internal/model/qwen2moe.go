package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerQwen2MoE lowers Qwen 1.5 and 2 with experts: Qwen 2's attention, and a
// shared expert that each token weighs by a gate of its own.
func lowerQwen2MoE(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Halves, outBias: maybe, experts: true, feed: (*stream).feedExperts,
		read: func(k *keys, t *traits) {
			hidden := t.FFN / max(k.count("expert_used_count", 1, maxExperts), 1)
			t.moe = readExperts(k, expertSpec{sharedGate: true}, hidden, t.FFN)
		},
	}.lower(f, arch)
}
