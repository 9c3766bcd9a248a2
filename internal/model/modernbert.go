package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerModernBert lowers ModernBERT: norms before the blocks (but for the
// attention of layer 0, whose input is the embedding's norm already), gate and up
// in one matrix, and symmetric windows with a rotary base of their own in all
// layers but every third, from layer 0 on.
func lowerModernBert(f file, arch string) (*Model, error) {
	k := &keys{file: f, arch: arch}
	s := readEncoder(k, "attention.layer_norm_epsilon")
	w := readWindows(k, s, 3, 0)
	pool := mustPool(k, false)
	if k.err != nil {
		return nil, k.err
	}
	e, err := newEncoder(f, s, "blk.0.attn_qkv.weight", (s.Heads+2*s.KVHeads)*s.HeadDim)
	if err != nil {
		return nil, err
	}
	e.norms = prog.LayerNorm
	e.op(prog.Embed{Out: e.h, W: e.matrix("token_embd.weight", s.Vocab, s.Embd), Scale: 1, Pos: prog.NoWeight, Type: prog.NoWeight})
	e.norm(e.h, e.x, "token_embd_norm", false)
	for l := range s.Layers {
		in := e.x
		if l > 0 {
			in = e.h
			e.norm(e.x, e.h, block(l, "attn_norm"), true)
		}
		e.fusedQKV(in, block(l, "attn_qkv"))
		rope, window := w.layer(l)
		e.attend(l, rope, prog.NoWeight, prog.NoWeight, window)
		e.product(e.att, e.sum, block(l, "attn_output"))
		e.norm(e.x, e.h, block(l, "ffn_norm"), true)
		e.op(prog.Linear{In: e.h, Parts: []prog.LinearPart{
			e.rows(e.gate, block(l, "ffn_up"), 0, 2*s.FFN), e.rows(e.up, block(l, "ffn_up"), s.FFN, 2*s.FFN),
		}})
		e.op(prog.GateMul{Gate: e.gate, Up: e.up, Out: e.gate, Act: prog.GELU})
		e.product(e.gate, e.sum, block(l, "ffn_down"))
	}
	e.norm(e.x, e.h, "output_norm", true)
	return e.finish(e.h, pool)
}
