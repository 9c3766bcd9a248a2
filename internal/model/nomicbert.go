package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerNomicBert lowers Nomic's BERT: as BERT, with rotary positions and a gated
// feed-forward.
func lowerNomicBert(f file, arch string) (*Model, error) {
	k := &keys{file: f, arch: arch}
	s := readEncoder(k, "attention.layer_norm_epsilon")
	rope := readRope(k, s)
	pool := mustPool(k, false)
	if k.err != nil {
		return nil, k.err
	}
	e, err := newEncoder(f, s)
	if err != nil {
		return nil, err
	}
	e.norms = prog.LayerNorm
	turn := rope.lower(prog.Halves)
	e.bertEmbed(false)
	for l := range s.Layers {
		e.qkv(e.h, l)
		e.attend(l, turn, prog.NoWeight, prog.NoWeight, 0)
		e.product(e.att, e.sum, block(l, "attn_output"))
		e.norm(e.h, e.x, block(l, "attn_output_norm"), true)
		e.op(prog.Linear{In: e.x, Parts: []prog.LinearPart{
			e.linear(e.x, e.gate, block(l, "ffn_gate")), e.linear(e.x, e.up, block(l, "ffn_up")),
		}})
		e.op(prog.GateMul{Gate: e.gate, Up: e.up, Out: e.gate, Act: prog.SiLU})
		e.product(e.gate, e.sum, block(l, "ffn_down"))
		e.norm(e.x, e.h, block(l, "layer_output_norm"), true)
	}
	return e.finish(e.h, pool)
}
