package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGranite lowers IBM's Granite 3: the usual block with four factors.
func lowerGranite(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, qkvBias: maybe, outBias: maybe, ffnBias: maybe, factors: true, read: readGranite}.lower(f, arch)
}

func readGranite(k *keys, t *traits) {
	t.embedScale = k.positiveOr("embedding_scale", 1)
	t.residual = k.positiveOr("residual_scale", 1)
	t.scale = k.positiveOr("attention.scale", t.scale)
	t.logitScale = 1 / k.positiveOr("logit_scale", 1)
}
