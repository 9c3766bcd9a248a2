package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerBert lowers BERT and what shares its files (BGE, E5, MiniLM): learned
// positions, token type 0, norms behind the sums, a feed-forward without a gate.
//
//	x = norm(token + position + type)
//	x = norm(x + attention(x)),  x = norm(x + ffn(x))        each layer
func lowerBert(f file, arch string) (*Model, error) {
	k := &keys{file: f, arch: arch}
	s := readEncoder(k, "attention.layer_norm_epsilon")
	pool := mustPool(k, true)
	if k.err != nil {
		return nil, k.err
	}
	e, err := newEncoder(f, s)
	if err != nil {
		return nil, err
	}
	e.norms = prog.LayerNorm
	e.bertEmbed(true)
	for l := range s.Layers {
		e.qkv(e.h, l)
		e.attend(l, prog.Rope{}, prog.NoWeight, prog.NoWeight, 0)
		e.product(e.att, e.sum, block(l, "attn_output"))
		e.norm(e.h, e.x, block(l, "attn_output_norm"), true)
		e.product(e.x, e.up, block(l, "ffn_up"))
		e.op(prog.Activate{In: e.up, Out: e.up, Act: prog.GELU})
		e.product(e.up, e.sum, block(l, "ffn_down"))
		e.norm(e.x, e.h, block(l, "layer_output_norm"), true)
	}
	return e.finish(e.h, pool)
}

// bertEmbed writes the sum of a token's rows to x and its norm to h.
func (e *encoder) bertEmbed(positions bool) {
	op := prog.Embed{Out: e.x, W: e.matrix("token_embd.weight", e.s.Vocab, e.s.Embd), Scale: 1, Pos: prog.NoWeight, Type: prog.NoWeight}
	if positions {
		op.Pos = e.matrix("position_embd.weight", e.s.Context, e.s.Embd)
	}
	if types, _, ok := e.file.shape("token_types.weight"); ok {
		if types < 1 || types > maxWidth {
			e.fail(&TensorError{Arch: e.s.Arch, Tensor: "token_types.weight", Want: "1 row or more", Got: "of no or too many rows"})
			return
		}
		op.Type = e.firstRow("token_types.weight", int(types), e.s.Embd)
	}
	e.op(op)
	e.norm(e.x, e.h, "token_embd_norm", false)
}
