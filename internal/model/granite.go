package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGranite lowers IBM's Granite 3: the usual block with four factors, in some
// files with experts, in some without rotary positions.
func lowerGranite(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Interleaved, outBias: maybe, ffnBias: maybe, factors: true, experts: true, feed: (*stream).feedExperts,
		read: func(k *keys, t *traits) {
			readGranite(k, t)
			if !k.flagOr("rope.scaling.finetuned", true) {
				t.roped = nowhere // so do files of Granite say it
			}
		},
	}.lower(f, arch)
}

func readGranite(k *keys, t *traits) {
	t.embedScale = k.scaleOr("embedding_scale", 1)
	t.residual = k.scaleOr("residual_scale", 1)
	t.scale = k.scaleOr("attention.scale", t.scale)
	t.logitScale = 1 / k.positiveOr("logit_scale", 1)
	readMixtral(k, t)
}
