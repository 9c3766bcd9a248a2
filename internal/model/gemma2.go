package model

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// lowerGemma2 lowers Gemma 2: norms around each half, every second layer with a
// window, soft caps on scores and logits.
func lowerGemma2(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, norms: around, act: prog.GELU, read: readGemma2}.lower(f, arch)
}

func readGemma2(k *keys, t *traits) {
	readGemma(k, t)
	t.readWindow(k, t.Layers, 4096, 2, false)
	t.local = t.rope.based(k, "rope.freq_base_swa", t.rope.base)
	t.scoreCap = k.positiveOr("attn_logit_softcapping", 50)
	t.logitCap = k.positiveOr("final_logit_softcapping", 30)
	if t.Layers == 46 { // the 27B: files do not say that its scale is of another width
		t.scale = wideScale(t.Spec)
	}
}

// wideScale is the scale of scores of the largest Gemmas: that of the heads that
// would divide the stream among them.
func wideScale(s *Spec) float32 { return float32(1 / math.Sqrt(float64(s.Embd/s.Heads))) }
