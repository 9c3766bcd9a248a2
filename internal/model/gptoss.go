package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerGPTOSS lowers OpenAI's gpt-oss: biases everywhere, attention sinks, every
// second layer sees a window, and experts of a clamped gate, chosen by logits.
func lowerGPTOSS(f file, arch string) (*Model, error) {
	return decoder{
		order: prog.Halves, outBias: required, ffnNorm: "post_attention_norm", experts: true, feed: (*stream).feedExperts,
		read: func(k *keys, t *traits) {
			t.mayHaveSinks = true
			t.readWindow(k, t.Layers, 0, 2, false)
			t.local = t.rope.based(k, "rope.freq_base_swa", t.rope.base)
			t.moe = readExperts(k, expertSpec{score: prog.ScoreChosen, bias: required, act: prog.ExpertClamped, alpha: 1.702, limit: 7}, t.FFN, 0)
		},
	}.lower(f, arch)
}
