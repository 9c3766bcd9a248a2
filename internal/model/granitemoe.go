package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGraniteMoE lowers Granite 3 and 4 with experts: Granite's block with its
// factors, and a shared expert in some.
func lowerGraniteMoE(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Interleaved, outBias: maybe, ffnBias: maybe, factors: true, experts: true, feed: (*stream).feedExperts, read: readGranite,
	}.lower(f, arch)
}
