package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerQwen3MoE lowers Qwen 3 with experts: Qwen 3's attention, no shared expert.
func lowerQwen3MoE(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Halves, qkNorm: eachHead, experts: true, feed: (*stream).feedExperts,
		read: func(k *keys, t *traits) {
			hidden := t.FFN / max(k.count("expert_used_count", 1, maxExperts), 1)
			t.moe = readExperts(k, expertSpec{norm: true}, hidden, 0)
		},
	}.lower(f, arch)
}
