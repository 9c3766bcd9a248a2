package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGemma3 lowers Gemma 3: norms around each half and on each head, every sixth
// layer sees all, the windowed ones rotate with a base of their own, unstretched.
func lowerGemma3(f file, arch string) (*Model, error) {
	return decoder{order: prog.Halves, norms: around, qkNorm: eachHead, act: prog.GELU, read: readGemma3}.lower(f, arch)
}

func readGemma3(k *keys, t *traits) {
	readGemma(k, t)
	t.readWindow(k, t.Layers, 0, 6, false)
	t.local = t.rope.plain().based(k, "rope.freq_base_swa", 10000)
	t.logitCap = k.scaleOr("final_logit_softcapping", 0)
	if t.Layers == 62 { // the 27B: files do not say that its scale is of another width
		t.scale = wideScale(t.Spec)
	}
}
