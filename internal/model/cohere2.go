package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerCohere2 lowers Command R7B and what follows it: layer norms without bias,
// attention and feed-forward beside one another, every fourth layer sees all and
// does not rotate.
func lowerCohere2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Interleaved, norm: prog.LayerNorm, parallel: true, outBias: maybe, read: readCohere2}.lower(f, arch)
}

func readCohere2(k *keys, t *traits) {
	t.readWindow(k, t.Layers, 0, 4, false)
	if t.window == 0 {
		k.fail(k.name("attention.sliding_window"), 0, "at least 1: layers without a window do not rotate", nil)
	}
	t.roped = t.windowed
	t.logitScale = k.scaleOr("logit_scale", 1)
}
