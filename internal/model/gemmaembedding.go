package model

import (
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// lowerGemmaEmbedding lowers EmbeddingGemma: Gemma 3's layers, norms before and
// behind each block, seeing both ways, in symmetric windows but for every sixth
// layer; after pooling perhaps two projections.
func lowerGemmaEmbedding(f file, arch string) (*Model, error) {
	k := &keys{file: f, arch: arch}
	s := readEncoder(k, "attention.layer_norm_rms_epsilon")
	w := readWindows(k, s, 6, false)
	pool := mustPool(k, false)
	if k.err != nil {
		return nil, k.err
	}
	e, err := newEncoder(f, s)
	if err != nil {
		return nil, err
	}
	e.norms = prog.RMS
	e.op(prog.Embed{Out: e.x, W: e.matrix("token_embd.weight", s.Vocab, s.Embd), Scale: float32(math.Sqrt(float64(s.Embd))), Pos: prog.NoWeight, Type: prog.NoWeight})
	for l := range s.Layers {
		e.norm(e.x, e.h, block(l, "attn_norm"), l > 0)
		e.qkv(e.h, l)
		rope, window := w.layer(l)
		e.attend(l, rope, e.vector(block(l, "attn_q_norm.weight"), s.HeadDim), e.vector(block(l, "attn_k_norm.weight"), s.HeadDim), window)
		e.product(e.att, e.h, block(l, "attn_output"))
		e.norm(e.h, e.sum, block(l, "post_attention_norm"), false)
		e.norm(e.x, e.h, block(l, "ffn_norm"), true)
		e.op(prog.Linear{In: e.h, Parts: []prog.LinearPart{
			e.linear(e.h, e.gate, block(l, "ffn_gate")), e.linear(e.h, e.up, block(l, "ffn_up")),
		}})
		e.op(prog.GateMul{Gate: e.gate, Up: e.up, Out: e.gate, Act: prog.GELU})
		e.product(e.gate, e.h, block(l, "ffn_down"))
		e.norm(e.h, e.sum, block(l, "post_ffw_norm"), false)
	}
	e.norm(e.x, e.h, "output_norm", true)
	return e.finish(e.h, pool)
}
