package model

import "github.com/paddock-go/paddock/internal/prog"

// lowerModernBert lowers ModernBERT: norms before the blocks (but for the
// attention of layer 0 in most, whose input is the embedding's norm already), gate and up
// in one matrix, and symmetric windows with a rotary base of their own in all
// layers but every third, from layer 0 on.
func lowerModernBert(f file, arch string) (*Model, error) {
	k := &keys{file: f, arch: arch}
	s := readEncoder(k, "attention.layer_norm_epsilon")
	w := readWindows(k, s, 3, true)
	pool := mustPool(k, true)
	act := readGateAct(k)
	if k.err != nil {
		return nil, k.err
	}
	e, err := newEncoder(f, s)
	if err != nil {
		return nil, err
	}
	e.norms, e.rankMean = prog.LayerNorm, true
	e.op(prog.Embed{Out: e.h, W: e.matrix("token_embd.weight", s.Vocab, s.Embd), Scale: 1, Pos: prog.NoWeight, Type: prog.NoWeight})
	e.norm(e.h, e.x, "token_embd_norm", false)
	for l := range s.Layers {
		in := e.x
		if name := block(l, "attn_norm"); l > 0 || e.has(name+".weight") {
			in = e.h
			e.norm(e.x, e.h, name, l > 0)
		}
		e.qkv(in, l)
		rope, window := w.layer(l)
		e.attend(l, rope, prog.NoWeight, prog.NoWeight, window)
		e.product(e.att, e.sum, block(l, "attn_output"))
		e.norm(e.x, e.h, block(l, "ffn_norm"), true)
		e.op(prog.Linear{In: e.h, Parts: []prog.LinearPart{
			e.rows(e.h, e.gate, block(l, "ffn_up"), 0, 2*s.FFN), e.rows(e.h, e.up, block(l, "ffn_up"), s.FFN, 2*s.FFN),
		}})
		e.op(prog.GateMul{Gate: e.gate, Up: e.up, Out: e.gate, Act: act})
		e.product(e.gate, e.sum, block(l, "ffn_down"))
	}
	e.norm(e.x, e.h, "output_norm", true)
	return e.finish(e.h, pool)
}

// gateActs are the functions of the gate that files name; unnamed, it is GELU.
var gateActs = map[string]prog.Act{
	"": prog.GELU, "gelu": prog.GELU, "geglu": prog.GELU, "silu": prog.SiLU, "swish": prog.SiLU, "swiglu": prog.SiLU,
}

func readGateAct(k *keys) prog.Act {
	const key = "hidden_activation"
	name := k.text(k.name(key))
	act, ok := gateActs[name]
	if !ok {
		k.fail(k.name(key), name, "gelu or silu", ErrUnsupported)
	}
	return act
}
