package session_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/quant"
)

// The files beside the weights that say how a sequence's rows become one.
const (
	modulesJSON = `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
		{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
		{"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]`
	poolingJSON = `{"word_embedding_dimension":64,"pooling_mode_cls_token":%t,"pooling_mode_mean_tokens":%t,"pooling_mode_max_tokens":false,
		"pooling_mode_mean_sqrt_len_tokens":false,"pooling_mode_weightedmean_tokens":false,"pooling_mode_lasttoken":%t,"include_prompt":true}`
)

// writePooling adds them to a folder.
func writePooling(t *testing.T, dir string, kind uint32) {
	t.Helper()
	writeFile(t, dir, "modules.json", modulesJSON)
	writeFile(t, dir, "1_Pooling/config.json", fmt.Sprintf(poolingJSON, kind == 2, kind == 1, kind == 3))
}

// prefixed is the tensors as a model with a head has them, or without "model.".
func prefixed(tensors map[string]theirs, cut, add string) map[string]theirs {
	out := map[string]theirs{}
	for name, x := range tensors {
		out[add+strings.TrimPrefix(name, cut)] = x
	}
	return out
}

func qwen3Embedding(r *refolder) (map[string]theirs, map[string]any) {
	config := r.decoderConfig("Qwen3ForCausalLM")
	delete(config, "num_experts_per_tok")
	config["head_dim"], config["sliding_window"], config["use_sliding_window"], config["max_window_layers"] = r.count("attention.key_length"), nil, false, r.layers
	r.move(decoderOuter, decoderHeads)
	r.move(nil, decoderNorms)
	const a, m = "model.layers.#.self_attn.", "model.layers.#.mlp."
	r.move(nil, map[string]string{"attn_q_norm": a + "q_norm", "attn_k_norm": a + "k_norm", "ffn_gate": m + "gate_proj", "ffn_up": m + "up_proj", "ffn_down": m + "down_proj"})
	return r.done(), config
}

func qwen3Model(r *refolder) (map[string]theirs, map[string]any) {
	tensors, config := qwen3Embedding(r)
	config["architectures"], config["tie_word_embeddings"] = []string{"Qwen3Model"}, false
	return tensors, config
}

func bert(r *refolder) (map[string]theirs, map[string]any) {
	types := r.left["token_types.weight"].shape[0]
	config := map[string]any{"architectures": []string{"BertModel"}, "hidden_act": "gelu", "hidden_size": r.count("embedding_length"), "num_hidden_layers": r.layers,
		"num_attention_heads": r.count("attention.head_count"), "intermediate_size": r.count("feed_forward_length"), "max_position_embeddings": r.count("context_length"),
		"vocab_size": r.count("vocab_size"), "layer_norm_eps": r.number("attention.layer_norm_epsilon"), "type_vocab_size": types,
		"position_embedding_type": "absolute", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "classifier_dropout": nil, "pad_token_id": 0}
	const e, l = "embeddings.", "encoder.layer.#."
	r.move(map[string]string{"token_embd": e + "word_embeddings", "position_embd": e + "position_embeddings", "token_types": e + "token_type_embeddings",
		"token_embd_norm": e + "LayerNorm", "cls": "pooler.dense", "cls.output": "classifier"},
		map[string]string{"attn_q": l + "attention.self.query", "attn_k": l + "attention.self.key", "attn_v": l + "attention.self.value",
			"attn_output": l + "attention.output.dense", "attn_output_norm": l + "attention.output.LayerNorm",
			"ffn_up": l + "intermediate.dense", "ffn_down": l + "output.dense", "layer_output_norm": l + "output.LayerNorm"})
	return r.done(), config
}

func nomicBert(r *refolder) (map[string]theirs, map[string]any) {
	types := r.left["token_types.weight"].shape[0]
	config := map[string]any{"architectures": []string{"NomicBertModel"}, "activation_function": "swiglu", "n_embd": r.count("embedding_length"), "n_layer": r.layers,
		"n_head": r.count("attention.head_count"), "n_inner": r.count("feed_forward_length"), "n_positions": r.count("context_length"), "max_trained_positions": 2048,
		"vocab_size": r.count("vocab_size"), "layer_norm_epsilon": r.number("attention.layer_norm_epsilon"), "type_vocab_size": types,
		"rotary_emb_base": r.number("rope.freq_base"), "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "rotary_emb_scale_base": nil, "rotary_scaling_factor": nil,
		"qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "prenorm": false, "use_rms_norm": false, "causal": false, "parallel_block": false,
		"scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": false}
	const l = "encoder.layers.#."
	r.move(map[string]string{"token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings", "token_embd_norm": "emb_ln"},
		map[string]string{"attn_qkv": l + "attn.Wqkv", "attn_output": l + "attn.out_proj", "attn_output_norm": l + "norm1", "layer_output_norm": l + "norm2",
			"ffn_up": l + "mlp.fc11", "ffn_gate": l + "mlp.fc12", "ffn_down": l + "mlp.fc2"})
	return r.done(), config
}

func modernBert(r *refolder) (map[string]theirs, map[string]any) {
	config := map[string]any{"architectures": []string{"ModernBertModel"}, "hidden_activation": "gelu", "hidden_size": r.count("embedding_length"), "num_hidden_layers": r.layers,
		"num_attention_heads": r.count("attention.head_count"), "intermediate_size": r.count("feed_forward_length"), "max_position_embeddings": r.count("context_length"),
		"vocab_size": r.count("vocab_size"), "norm_eps": r.number("attention.layer_norm_epsilon"), "norm_bias": false, "attention_bias": false, "mlp_bias": false,
		"global_rope_theta": r.number("rope.freq_base"), "local_rope_theta": r.number("rope.freq_base_swa"), "global_attn_every_n_layers": 3,
		"local_attention": r.count("attention.sliding_window"), "classifier_pooling": "mean", "decoder_bias": true, "position_embedding_type": "absolute"}
	r.move(map[string]string{"token_embd": "embeddings.tok_embeddings", "token_embd_norm": "embeddings.norm", "output_norm": "final_norm"},
		map[string]string{"attn_norm": "layers.#.attn_norm", "attn_qkv": "layers.#.attn.Wqkv", "attn_output": "layers.#.attn.Wo", "ffn_norm": "layers.#.mlp_norm",
			"ffn_up": "layers.#.mlp.Wi", "ffn_down": "layers.#.mlp.Wo"})
	return r.done(), config
}

// gemmaEmbedding is a Gemma 3 that sees both ways, whose norms are stored less one.
func gemmaEmbedding(r *refolder) (map[string]theirs, map[string]any) {
	config := r.decoderConfig("Gemma3TextModel")
	delete(config, "num_experts_per_tok")
	delete(config, "hidden_act")
	config["hidden_activation"], config["head_dim"], config["query_pre_attn_scalar"] = "gelu_pytorch_tanh", r.count("attention.key_length"), r.count("attention.key_length")
	config["use_bidirectional_attention"], config["sliding_window"], config["_sliding_window_pattern"] = true, r.count("attention.sliding_window"), 6
	config["rope_local_base_freq"], config["rope_scaling"], config["final_logit_softcapping"], config["attn_logit_softcapping"] = r.number("rope.freq_base_swa"), nil, nil, nil
	config["attention_bias"] = false
	const s, full = "sliding_attention", "full_attention"
	config["layer_types"] = []string{s, s, s, s, s, full}
	for name, x := range r.left {
		if !strings.HasSuffix(name, "norm.weight") {
			continue
		}
		values := make([]float32, len(x.data)/4)
		format, _ := quant.Lookup(quant.F32)
		format.Decode(values, x.data)
		for i, v := range values {
			if values[i] = v - 1; values[i]+1 != v {
				r.t.Fatalf("%s: %v less one is no number that comes back", name, v)
			}
		}
		_, x.data = encoded(quant.F32)("", values)
		r.left[name] = x
	}
	const a, m = "layers.#.self_attn.", "layers.#.mlp."
	r.move(map[string]string{"token_embd": "embed_tokens", "output_norm": "norm"},
		map[string]string{"attn_norm": "layers.#.input_layernorm", "post_attention_norm": "layers.#.post_attention_layernorm",
			"ffn_norm": "layers.#.pre_feedforward_layernorm", "post_ffw_norm": "layers.#.post_feedforward_layernorm",
			"attn_q": a + "q_proj", "attn_k": a + "k_proj", "attn_v": a + "v_proj", "attn_output": a + "o_proj", "attn_q_norm": a + "q_norm", "attn_k_norm": a + "k_norm",
			"ffn_gate": m + "gate_proj", "ffn_up": m + "up_proj", "ffn_down": m + "down_proj"})
	return r.done(), config
}

// normsOfHalves is the file with all norm weights rounded so that one less of them is a number too.
func normsOfHalves(t *testing.T, f *gguf.File) *gguf.File {
	t.Helper()
	var list []ggufwrite.Tensor
	for _, x := range f.Tensors {
		if !strings.HasSuffix(x.Name, "norm.weight") {
			continue
		}
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, x.Elems())
		format, _ := quant.Lookup(quant.F32)
		format.Decode(values, data)
		for i, v := range values {
			values[i] = float32(int(v*4096)) / 4096
		}
		_, b := encoded(quant.F32)("", values)
		list = append(list, ggufwrite.Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims, Data: b})
	}
	return rekeyed(t, f, nil, []string{"norm.weight"}, list...)
}

// encoderFolders are the models that embed.
var encoderFolders = []struct {
	name   string
	make   func(*refolder) (map[string]theirs, map[string]any)
	change map[string]string // prefixes: a cut one and what comes in its place
	exact  func(*testing.T, *gguf.File) *gguf.File
}{
	{"qwen3_embedding", qwen3Embedding, map[string]string{"model.": ""}, nil},
	{"qwen3_embedding", qwen3Model, map[string]string{"model.": ""}, nil},
	{"bert", bert, map[string]string{"": "bert."}, nil},
	{"nomic_bert", nomicBert, nil, nil},
	{"modern_bert", modernBert, map[string]string{"": "model."}, nil},
	{"gemma_embedding", gemmaEmbedding, nil, normsOfHalves},
}

// TestFolderEncoders: models that embed, by the files of sentence-transformers beside
// them, give the same pooled bits; with and without the prefix of a model with a head.
func TestFolderEncoders(t *testing.T) {
	for _, c := range encoderFolders {
		t.Run(c.name, func(t *testing.T) {
			f, _, tokens := openGolden(t, c.name)
			if c.exact != nil {
				f = c.exact(t, f)
			}
			want := pooledOf(t, f, tokens)
			r := newRefolder(t, f)
			tensors, config := c.make(r)
			changed := map[string]string{"none": ""}
			maps.Copy(changed, c.change)
			n := 3
			for cut, add := range changed {
				dir := writeFolder(t, prefixed(tensors, cut, add), config, n)
				writePooling(t, dir, r.count("pooling_type"))
				sameBits(t, "folder with "+add+" for "+cut, pooled(t, dir, tokens), want)
				n = 1
			}
		})
	}
}

// TestFolderPooling: the other kinds of pooling, and the newer way to write them.
func TestFolderPooling(t *testing.T) {
	f, _, tokens := openGolden(t, "bert")
	tensors, config := bert(newRefolder(t, f))
	for kind, mode := range map[uint32]string{1: "mean", 2: "cls", 3: "lasttoken"} {
		want := pooledOf(t, rekeyed(t, f, map[string]any{"bert.pooling_type": kind}, nil), tokens)
		dir := writeFolder(t, tensors, config, 1)
		writePooling(t, dir, kind)
		sameBits(t, mode, pooled(t, dir, tokens), want)
		writeFile(t, dir, "1_Pooling/config.json", fmt.Sprintf(`{"embedding_dimension":64,"pooling_mode":%q,"include_prompt":true}`, mode))
		sameBits(t, "new "+mode, pooled(t, dir, tokens), want)
	}
}

// TestFolderReranker: a classifier behind BERT's pooler.
func TestFolderReranker(t *testing.T) {
	f, _, tokens := openGolden(t, "bert")
	values := make([]float32, 64*64)
	for i := range values {
		values[i] = float32(i*29%101-50) / 256
	}
	part := func(name string, n int, dims ...uint64) ggufwrite.Tensor {
		_, b := encoded(quant.F32)("", values[:n])
		return ggufwrite.Tensor{Name: name, Dims: dims, Data: b}
	}
	ranks := rekeyed(t, f, map[string]any{"bert.pooling_type": uint32(4)}, nil,
		part("cls.weight", 64*64, 64, 64), part("cls.bias", 64, 64), part("cls.output.weight", 64, 64, 1), part("cls.output.bias", 1, 1))
	tensors, config := bert(newRefolder(t, ranks))
	named := map[string]theirs{}
	for name, x := range tensors {
		if !strings.HasPrefix(name, "classifier.") {
			name = "bert." + name
		}
		named[name] = x
	}
	named["bert.embeddings.position_ids"] = theirs{"I64", []uint64{1, 512}, make([]byte, 8*512)}
	config["architectures"], config["id2label"] = []string{"BertForSequenceClassification"}, map[string]string{"0": "LABEL_0"}
	sameBits(t, "reranker", pooled(t, writeFolder(t, named, config, 2), tokens), pooledOf(t, ranks, tokens))
}

// TestFolderDense: the products behind the pooling lie in folders of their own.
func TestFolderDense(t *testing.T) {
	f, _, tokens := openGolden(t, "gemma_embedding")
	f = normsOfHalves(t, f)
	values := make([]float32, 96*64)
	for i := range values {
		values[i] = float32(i*31%97-48) / 128
	}
	_, b := encoded(quant.F32)("", values)
	want := rekeyed(t, f, nil, nil, ggufwrite.Tensor{Name: "dense_2.weight", Dims: []uint64{64, 96}, Data: b}, ggufwrite.Tensor{Name: "dense_3.weight", Dims: []uint64{96, 64}, Data: b})
	tensors, config := gemmaEmbedding(newRefolder(t, f))
	dir := writeFolder(t, tensors, config, 1)
	writePooling(t, dir, 1)
	writeFile(t, dir, "modules.json", `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
		{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
		{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"},
		{"idx":3,"name":"3","path":"3_Dense","type":"sentence_transformers.models.Dense"},
		{"idx":4,"name":"4","path":"4_Normalize","type":"sentence_transformers.models.Normalize"}]`)
	for folder, shape := range map[string][]uint64{"2_Dense": {96, 64}, "3_Dense": {64, 96}} {
		writeFile(t, dir, folder+"/config.json", fmt.Sprintf(`{"in_features":%d,"out_features":%d,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`, shape[1], shape[0]))
		writeFile(t, dir, folder+"/model.safetensors", safetensorsOf(t, map[string]theirs{"linear.weight": {"F32", shape, b}}))
	}
	sameBits(t, "two products", pooled(t, dir, tokens), pooledOf(t, want, tokens))
}
