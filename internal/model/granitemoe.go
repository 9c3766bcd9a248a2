package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGraniteMoE lowers Granite 3 and 4 with experts: Granite's block with its
// factors, and a shared expert in some.
func lowerGraniteMoE(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Interleaved, qkvBias: maybe, outBias: maybe, factors: true, experts: true, feed: (*stream).feedExperts,
		read: func(k *keys, t *traits) {
			readGranite(k, t)
			t.moe = readExperts(k, expertSpec{norm: true}, t.FFN, 0)
		},
	}.lower(f, arch)
}
