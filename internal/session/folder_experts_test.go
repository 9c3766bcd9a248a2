package session_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/quant"
)

// gptOSS is the folder of a gpt-oss file: gate and up rows in turn, experts as blocks
// and scales where they are MXFP4, else lying on their side.
func gptOSS(r *refolder, class string) (map[string]theirs, map[string]any) {
	config := r.decoderConfig(class)
	config["head_dim"] = r.count("attention.key_length")
	config["num_local_experts"] = r.count("expert_count")
	config["sliding_window"] = r.count("attention.sliding_window")
	config["swiglu_limit"], config["attention_bias"], config["experts_per_token"] = 7.0, true, r.count("expert_used_count")
	config["initial_context_length"], config["router_aux_loss_coef"], config["output_router_logits"] = 128, 0.9, false
	config["layer_types"] = slices.Repeat([]string{"sliding_attention", "full_attention"}, r.layers/2)
	config["rope_scaling"] = map[string]any{"rope_type": "yarn", "factor": r.number("rope.scaling.factor"), "beta_fast": 32.0, "beta_slow": 1.0,
		"original_max_position_embeddings": r.count("rope.scaling.original_context_length"), "truncate": true}
	r.move(decoderOuter, decoderHeads)
	r.move(nil, map[string]string{"attn_norm": "model.layers.#.input_layernorm", "post_attention_norm": "model.layers.#.post_attention_layernorm",
		"ffn_gate_inp": "model.layers.#.mlp.router"})
	for l := range r.layers {
		ours, name := fmt.Sprintf("blk.%d.", l), fmt.Sprintf("model.layers.%d.mlp.experts.", l)
		r.out[fmt.Sprintf("model.layers.%d.self_attn.sinks", l)] = r.take(ours + "attn_sinks.weight")
		var bias []theirs
		gate, up := r.take(ours+"ffn_gate_exps.bias").each(), r.take(ours+"ffn_up_exps.bias").each()
		for e := range gate {
			bias = append(bias, mixed(gate[e], up[e]))
		}
		r.out[name+"gate_up_proj_bias"], r.out[name+"down_proj_bias"] = stacked(bias), r.take(ours+"ffn_down_exps.bias")
		down := r.take(ours + "ffn_down_exps.weight").each()
		gate, up = r.take(ours+"ffn_gate_exps.weight").each(), r.take(ours+"ffn_up_exps.weight").each()
		var both []theirs
		for e := range gate {
			both = append(both, mixed(gate[e], up[e]))
		}
		for part, list := range map[string][]theirs{"gate_up_proj": both, "down_proj": down} {
			if list[0].dtype != "" {
				for e := range list {
					list[e] = list[e].turned()
				}
				r.out[name+part] = stacked(list)
				continue
			}
			r.out[name+part+"_blocks"], r.out[name+part+"_scales"] = mxfp4Parts(stacked(list))
			config["quantization_config"] = map[string]any{"quant_method": "mxfp4", "modules_to_not_convert": []string{"lm_head"}}
		}
	}
	return r.done(), config
}

// mxfp4Parts takes blocks of 17 bytes apart. There two neighbours share a byte, here
// two values that are 16 apart.
func mxfp4Parts(x theirs) (blocks, scales theirs) {
	shape := slices.Clone(x.shape)
	shape[len(shape)-1] /= 32
	blocks, scales = theirs{"U8", append(slices.Clone(shape), 16), nil}, theirs{"U8", shape, nil}
	for b := range slices.Chunk(x.data, 17) {
		scales.data = append(scales.data, b[0])
		var codes [32]byte
		for i, two := range b[1:] {
			codes[i], codes[i+16] = two&15, two>>4
		}
		for i := 0; i < 32; i += 2 {
			blocks.data = append(blocks.data, codes[i]|codes[i+1]<<4)
		}
	}
	return blocks, scales
}

// expertFolders are the models with experts beyond those of usualFolders.
var expertFolders = []struct {
	name, class string
	folder      func(r *refolder, class string) (map[string]theirs, map[string]any)
	q8          bool // the golden file has Q8_0, which is made of the folder when it opens
}{
	{"gptoss", "GptOssForCausalLM", gptOSS, false}, {"gptoss_mxfp4", "GptOssForCausalLM", gptOSS, true},
	{"deepseek2", "DeepseekV3ForCausalLM", deepSeek, false}, {"granitemoe", "GraniteMoeSharedForCausalLM", graniteMoE, false},
}

// TestFoldersExperts: a golden model with experts as a folder has the same bits.
func TestFoldersExperts(t *testing.T) {
	for i, c := range expertFolders {
		t.Run(c.name, func(t *testing.T) {
			f, path, tokens := openGolden(t, c.name)
			tensors, config := c.folder(newRefolder(t, f), c.class)
			dir := writeFolder(t, tensors, config, 1+i%3)
			if !c.q8 {
				sameRows(t, c.name, c.class, dir, path, tokens)
				return
			}
			m, err := hf.Open(dir, hf.Options{Q8_0: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.File.Close()
			sameBits(t, "MXFP4 and Q8_0", logitsOf(t, m.File, tokens), logits(t, path, tokens))
		})
	}
}

// TestFolderGPTOSS: experts of blocks and scales are kept as they are, the rest too;
// those of plain numbers lie on their side.
func TestFolderGPTOSS(t *testing.T) {
	const class = "GptOssForCausalLM"
	f, _, tokens := openGolden(t, "gptoss")
	b := ggufWith(t, f, func(name string, values []float32) (quant.Type, []byte) {
		if strings.HasSuffix(name, ".bias") || strings.Contains(name, "gate_inp") { // exact, as ever
			return encoded(quant.F32)(name, values)
		}
		return encoded(quant.BF16)(name, values)
	})
	tensors, config := gptOSS(newRefolder(t, b), class)
	sameBits(t, "BF16", logits(t, writeFolder(t, tensors, config, 1), tokens), logitsOf(t, b, tokens))

	f, _, tokens = openGolden(t, "gptoss_mxfp4")
	tensors, config = gptOSS(newRefolder(t, f), class)
	kept := ggufWith(t, f, func(name string, values []float32) (quant.Type, []byte) {
		if x, _ := f.Tensor(name); quant.Type(x.Type) != quant.MXFP4 {
			return encoded(quant.F32)(name, values)
		}
		x, _ := f.Tensor(name)
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		return quant.MXFP4, data
	})
	sameBits(t, "MXFP4", logits(t, writeFolder(t, tensors, config, 3), tokens), logitsOf(t, kept, tokens))
}

// deepSeek is the folder of a DeepSeek file: one matrix of what keys and values are
// made of, one tensor an expert.
func deepSeek(r *refolder, class string) (map[string]theirs, map[string]any) {
	config := r.decoderConfig(class)
	config["num_key_value_heads"] = r.count("attention.head_count")
	turn, latent := r.count("rope.dimension_count"), r.count("attention.kv_lora_rank")
	plain, value := r.count("attention.key_length_mla")-turn, r.count("attention.value_length_mla")
	config["q_lora_rank"] = nil
	if n := r.count("attention.q_lora_rank"); n > 0 {
		config["q_lora_rank"] = n
	}
	for key, n := range map[string]uint32{"kv_lora_rank": latent, "qk_rope_head_dim": turn, "qk_nope_head_dim": plain, "v_head_dim": value,
		"n_routed_experts": r.count("expert_count"), "n_shared_experts": r.count("expert_shared_count"), "moe_intermediate_size": r.count("expert_feed_forward_length"),
		"first_k_dense_replace": r.count("leading_dense_block_count"), "n_group": max(1, r.count("expert_group_count")), "topk_group": max(1, r.count("expert_group_used_count")),
		"moe_layer_freq": 1, "ep_size": 1} {
		config[key] = n
	}
	config["norm_topk_prob"], _ = r.f.Bool(r.arch + ".expert_weights_norm")
	config["routed_scaling_factor"] = r.number("expert_weights_scale")
	config["scoring_func"], config["topk_method"] = "sigmoid", "noaux_tc"
	if r.count("expert_gating_func") == 1 {
		config["scoring_func"], config["topk_method"] = "softmax", "greedy"
	}
	all := r.number("rope.scaling.yarn_log_multiplier") * 10
	config["rope_scaling"] = map[string]any{"type": "yarn", "factor": r.number("rope.scaling.factor"), "beta_fast": 32, "beta_slow": 1, "mscale": all,
		"mscale_all_dim": all, "original_max_position_embeddings": r.count("rope.scaling.original_context_length")}
	r.move(decoderOuter, decoderNorms)
	const a, m = "model.layers.#.self_attn.", "model.layers.#.mlp."
	r.move(nil, map[string]string{"attn_q": a + "q_proj", "attn_q_a": a + "q_a_proj", "attn_q_a_norm": a + "q_a_layernorm", "attn_q_b": a + "q_b_proj",
		"attn_kv_a_mqa": a + "kv_a_proj_with_mqa", "attn_kv_a_norm": a + "kv_a_layernorm", "attn_output": a + "o_proj",
		"ffn_gate": m + "gate_proj", "ffn_up": m + "up_proj", "ffn_down": m + "down_proj", "ffn_gate_inp": m + "gate",
		"ffn_gate_shexp": m + "shared_experts.gate_proj", "ffn_up_shexp": m + "shared_experts.up_proj", "ffn_down_shexp": m + "shared_experts.down_proj"})
	for l := range r.layers {
		ours, name := fmt.Sprintf("blk.%d.", l), fmt.Sprintf("model.layers.%d.", l)
		ks, vs := r.take(ours+"attn_k_b.weight").each(), r.take(ours+"attn_v_b.weight").each()
		both := theirs{ks[0].dtype, []uint64{0, uint64(latent)}, nil}
		for h := range ks {
			both = joined(both, joined(ks[h].turned(), vs[h]))
		}
		r.out[name+"self_attn.kv_b_proj.weight"] = both
		if bias := ours + "exp_probs_b.bias"; r.has(bias) {
			r.out[name+"mlp.gate.e_score_correction_bias"] = r.take(bias)
		}
		if !r.has(ours + "ffn_up_exps.weight") {
			continue
		}
		for part, to := range map[string]string{"ffn_gate_exps": "gate_proj", "ffn_up_exps": "up_proj", "ffn_down_exps": "down_proj"} {
			for e, x := range r.take(ours + part + ".weight").each() {
				r.out[fmt.Sprintf("%smlp.experts.%d.%s.weight", name, e, to)] = x
			}
		}
	}
	return r.done(), config
}

// deepSeek2Lite is the golden DeepSeek with what its second version has otherwise: a
// softmax over experts, and queries without a latent.
func deepSeek2Lite(t *testing.T, f *gguf.File) *gguf.File {
	embd, _ := f.Tensor("token_embd.weight")
	rows, err := f.Data(embd)
	if err != nil {
		t.Fatal(err)
	}
	var add []ggufwrite.Tensor
	for l := range 3 {
		add = append(add, ggufwrite.Tensor{Name: fmt.Sprintf("blk.%d.attn_q.weight", l), Type: embd.Type, Dims: []uint64{64, 96}, Data: rows[l*96*64*2 : (l+1)*96*64*2]})
	}
	return rekeyed(t, f, map[string]any{"deepseek2.expert_gating_func": uint32(1), "deepseek2.expert_weights_norm": false, "deepseek2.attention.q_lora_rank": nil,
		"deepseek2.expert_weights_scale": float32(1.5)}, []string{"attn_q_a", "attn_q_b", "exp_probs_b"}, add...)
}

// TestFolderDeepSeek: the second version, experts in groups, and layers that are left
// out.
func TestFolderDeepSeek(t *testing.T) {
	f, path, tokens := openGolden(t, "deepseek2")
	tensors, config := deepSeek(newRefolder(t, f), "DeepseekV3ForCausalLM")
	// What predicts a second token lies behind the layers, and is not used.
	config["num_nextn_predict_layers"] = 1
	for _, name := range slices.Collect(maps.Keys(tensors)) {
		if rest, ok := strings.CutPrefix(name, "model.layers.2."); ok {
			tensors["model.layers.3."+rest] = tensors[name]
		}
	}
	tensors["model.layers.3.eh_proj.weight"] = tensors["model.layers.0.mlp.up_proj.weight"]
	sameBits(t, "with a further layer", logits(t, writeFolder(t, tensors, config, 1), tokens), logits(t, path, tokens))

	groups := rekeyed(t, f, map[string]any{"deepseek2.expert_group_count": uint32(2), "deepseek2.expert_group_used_count": uint32(1)}, nil)
	tensors, config = deepSeek(newRefolder(t, groups), "DeepseekV3ForCausalLM")
	sameBits(t, "groups", logits(t, writeFolder(t, tensors, config, 1), tokens), logitsOf(t, groups, tokens))

	lite := deepSeek2Lite(t, f)
	tensors, config = deepSeek(newRefolder(t, lite), "DeepseekV2ForCausalLM")
	sameBits(t, "DeepSeek 2", logits(t, writeFolder(t, tensors, config, 2), tokens), logitsOf(t, lite, tokens))
}

// TestFolderF8Experts: stacks of experts and the split matrix of latent attention in
// FP8, in blocks that the edges cut, are the same as their products in F32.
func TestFolderF8Experts(t *testing.T) {
	f, _, tokens := openGolden(t, "deepseek2")
	for _, block := range [][2]int{{128, 128}, {24, 40}} {
		tensors, config := deepSeek(newRefolder(t, f), "DeepseekV3ForCausalLM")
		config["quantization_config"] = map[string]any{"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": block}
		plain, coded := maps.Clone(tensors), maps.Clone(tensors)
		n := 0
		for name, x := range tensors {
			if len(x.shape) != 2 || !strings.Contains(name, "_proj") {
				continue
			}
			n++
			rows, cols := int(x.shape[0]), int(x.shape[1])
			down, across := (rows+block[0]-1)/block[0], (cols+block[1]-1)/block[1]
			scales := make([]float32, down*across)
			for i := range scales {
				scales[i] = 0.0002 + 0.00013*float32((i*7+n)%5)
			}
			codes, values := make([]byte, rows*cols), make([]float32, rows*cols)
			for i := range codes {
				if codes[i] = byte(i*37 + i/256*11 + n); codes[i]&0x7f == 0x7f {
					codes[i] = 0x80 // not a number would make all logits none
				}
				values[i] = half.F8E4M3ToF32(codes[i]) * scales[i/cols/block[0]*across+i%cols/block[1]]
			}
			_, b := encoded(quant.F32)("", scales)
			coded[name], coded[name+"_scale_inv"] = theirs{"F8_E4M3", x.shape, codes}, theirs{"F32", []uint64{uint64(down), uint64(across)}, b}
			_, b = encoded(quant.F32)("", values)
			plain[name] = theirs{"F32", x.shape, b}
		}
		if n != 3*5+3+2*(4*3+3) {
			t.Fatalf("%d matrices", n)
		}
		sameBits(t, fmt.Sprint("blocks of ", block), logits(t, writeFolder(t, coded, config, 2), tokens), logits(t, writeFolder(t, plain, config, 1), tokens))
	}
}

// graniteMoE is the folder of a Granite with experts: all experts of a kind in one
// tensor, gate above up.
func graniteMoE(r *refolder, class string) (map[string]theirs, map[string]any) {
	config := r.decoderConfig(class)
	config["num_local_experts"] = r.count("expert_count")
	for key, name := range map[string]string{"embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier", "logit_scale": "logits_scaling"} {
		config[name] = r.number(key)
	}
	config["attention_multiplier"] = 0.25 // 1 ÷ √16: the golden file has it under a key that no one reads
	config["attention_bias"], config["router_aux_loss_coef"] = false, 0.001
	for l := range r.layers {
		ours, name := fmt.Sprintf("blk.%d.", l), fmt.Sprintf("model.layers.%d.", l)
		for part, heads := range map[string]uint32{"attn_q": r.count("attention.head_count"), "attn_k": r.count("attention.head_count_kv")} {
			x := r.left[ours+part+".weight"]
			x.data = untwist(x.data, int(heads), int(x.shape[0]))
			r.left[ours+part+".weight"] = x
		}
		gate, up := r.take(ours+"ffn_gate_exps.weight").each(), r.take(ours+"ffn_up_exps.weight").each()
		for e := range gate {
			gate[e] = joined(gate[e], up[e])
		}
		r.out[name+"block_sparse_moe.input_linear.weight"] = stacked(gate)
		r.out[name+"block_sparse_moe.output_linear.weight"] = r.take(ours + "ffn_down_exps.weight")
		r.out[name+"block_sparse_moe.router.layer.weight"] = r.take(ours + "ffn_gate_inp.weight")
		if r.has(ours + "ffn_gate_shexp.weight") {
			r.out[name+"shared_mlp.input_linear.weight"] = joined(r.take(ours+"ffn_gate_shexp.weight"), r.take(ours+"ffn_up_shexp.weight"))
			r.out[name+"shared_mlp.output_linear.weight"] = r.take(ours + "ffn_down_shexp.weight")
			config["shared_intermediate_size"] = r.count("expert_shared_feed_forward_length")
		}
	}
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderNorms)
	return r.done(), config
}

// TestFolderGraniteMoE: without the shared expert, kept and as Q8_0.
func TestFolderGraniteMoE(t *testing.T) {
	f, _, tokens := openGolden(t, "granitemoe")
	bare := rekeyed(t, f, map[string]any{"granitemoe.expert_shared_feed_forward_length": nil}, []string{"shexp"})
	tensors, config := graniteMoE(newRefolder(t, bare), "GraniteMoeForCausalLM")
	sameBits(t, "without", logits(t, writeFolder(t, tensors, config, 1), tokens), logitsOf(t, bare, tokens))
	m, err := hf.Open(writeFolder(t, tensors, config, 1), hf.Options{Q8_0: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.File.Close()
	q8 := ggufWith(t, bare, func(name string, values []float32) (quant.Type, []byte) {
		if strings.Contains(name, "gate_inp") {
			return encoded(quant.F32)(name, values)
		}
		return encoded(quant.Q8_0)(name, values)
	})
	sameBits(t, "as Q8_0", logitsOf(t, m.File, tokens), logitsOf(t, q8, tokens))
}
