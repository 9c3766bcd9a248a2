package synth

import "maps"

// encoderShape is how an encoder's tensors are named and joined, beyond what a
// denseShape says.
type encoderShape struct {
	behind bool // norms stand behind the sums, and there is none at the end
	first  bool // layer 0 has a norm before its attention
	enters bool // the embedding has a norm
	types  int  // rows of token types; 0: none
}

func encoder(name, arch string, heads, kvHeads, ffn, context int, d denseShape) shape {
	d.keys = maps.Clone(d.keys)
	return shape{name: name, arch: arch, layers: 12, embd: 768, heads: heads, kvHeads: kvHeads, headDim: 768 / heads, ffn: ffn, vocab: 16384, context: context, base: 1e4, tied: true, dense: &d}
}

// encoderShapes are those of the golden encoders, of about 100 million parameters.
var encoderShapes = []shape{
	encoder("bert", "bert", 12, 12, 3072, 512, denseShape{layerNorm: true, normBias: true, bias: true, positions: true, ungated: true, pool: 2,
		encoder: &encoderShape{behind: true, enters: true, types: 2}}),
	encoder("nomic_bert", "nomic-bert", 12, 12, 2048, 2048, denseShape{layerNorm: true, normBias: true, fusedQKV: true, pool: 1,
		encoder: &encoderShape{behind: true, enters: true, types: 2}}),
	encoder("modern_bert", "modern-bert", 12, 12, 2048, 2048, denseShape{layerNorm: true, fusedQKV: true, fusedUp: true, pool: 1, encoder: &encoderShape{enters: true},
		keys: map[string]any{"attention.sliding_window": uint32(128), "rope.freq_base_swa": float32(1e4)}}),
	encoder("gemma_embedding", "gemma-embedding", 12, 4, 2560, 2048, denseShape{after: true, headNorm: true, pool: 1, encoder: &encoderShape{first: true},
		keys: map[string]any{"attention.sliding_window": uint32(512), "rope.freq_base_swa": float32(1e4)}}),
}

// encode lists an encoder's tensors with their layer.
func (w *denseWriter) encode(e *encoderShape) {
	s, d := w.s, w.d
	w.add(tensor{name: "token_embd.weight", rows: s.vocab, cols: s.embd, part: output, spread: 1 / sqrt(s.embd)}, -1)
	if d.positions {
		w.add(tensor{name: "position_embd.weight", rows: s.context, cols: s.embd, part: router, spread: 1 / sqrt(s.embd)}, -1)
	}
	if e.types > 0 {
		w.add(tensor{name: "token_types.weight", rows: e.types, cols: s.embd, part: router, spread: 1 / sqrt(s.embd)}, -1)
	}
	if e.enters {
		w.norm("token_embd_norm", s.embd)
	}
	if !e.behind {
		w.norm("output_norm", s.embd)
	}
	q, kv, in := s.heads*s.headDim, s.kvHeads*s.headDim, 1/sqrt(s.embd)
	for w.layer = range s.layers {
		if e.behind {
			w.norm("attn_output_norm", s.embd)
			w.norm("layer_output_norm", s.embd)
		} else {
			if w.layer > 0 || e.first {
				w.norm("attn_norm", s.embd)
			}
			w.norm("ffn_norm", s.embd)
		}
		if d.after {
			w.norm("post_attention_norm", s.embd)
			w.norm("post_ffw_norm", s.embd)
		}
		w.attention(q, kv, in, 1/(sqrt(q)*sqrt(2*s.layers)))
		w.feed(in)
	}
}
