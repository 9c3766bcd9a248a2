package session_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/hf"
	"github.com/paddock-go/paddock/internal/quant"
)

// theirs is a tensor as a folder has it.
type theirs struct {
	dtype string
	shape []uint64
	data  []byte
}

// layerNames are the names of the layers' tensors there, written down here apart from
// the tables that are tested.
var layerNames = map[string]string{
	"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
	"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
	"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
	"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
	"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	"ffn_gate_inp": "mlp.gate", "ffn_gate_exps": "mlp.experts.#.gate_proj", "ffn_up_exps": "mlp.experts.#.up_proj", "ffn_down_exps": "mlp.experts.#.down_proj",
	"ffn_gate_shexp": "mlp.shared_expert.gate_proj", "ffn_up_shexp": "mlp.shared_expert.up_proj", "ffn_down_shexp": "mlp.shared_expert.down_proj",
	"ffn_gate_inp_shexp": "mlp.shared_expert_gate",
}

var mixtralNames = map[string]string{
	"ffn_gate_inp": "block_sparse_moe.gate", "ffn_gate_exps": "block_sparse_moe.experts.#.w1",
	"ffn_up_exps": "block_sparse_moe.experts.#.w3", "ffn_down_exps": "block_sparse_moe.experts.#.w2",
}

// folderName is a tensor's name there, with "#" for an expert's number.
func folderName(class, ours string) string {
	if name := map[string]string{"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}[ours]; name != "" {
		return name
	}
	f := strings.Split(ours, ".") // blk N part weight
	name := layerNames[f[2]]
	if other := mixtralNames[f[2]]; other != "" && class == "MixtralForCausalLM" {
		name = other
	}
	return "model.layers." + f[1] + "." + name + "." + f[3]
}

// toFolder takes a golden file apart as the transformers library would have stored it.
func toFolder(t *testing.T, f *gguf.File, class string) (tensors map[string]theirs, config map[string]any) {
	t.Helper()
	arch, err := f.String("general.architecture")
	if err != nil {
		t.Fatal(err)
	}
	config = map[string]any{"architectures": []string{class}, "hidden_act": "silu", "torch_dtype": "float16", "tie_word_embeddings": true}
	for key, name := range map[string]string{
		"context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
		"attention.head_count": "num_attention_heads", "attention.head_count_kv": "num_key_value_heads", "feed_forward_length": "intermediate_size",
		"attention.layer_norm_rms_epsilon": "rms_norm_eps", "rope.freq_base": "rope_theta", "attention.key_length": "head_dim", "vocab_size": "vocab_size",
		"expert_count": "num_experts", "expert_used_count": "num_experts_per_tok", "expert_feed_forward_length": "moe_intermediate_size",
		"embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier", "attention.scale": "attention_multiplier", "logit_scale": "logits_scaling",
		"expert_shared_feed_forward_length": "shared_expert_intermediate_size",
	} {
		switch kind, _, _, ok := f.KindOf(arch + "." + key); {
		case !ok:
		case kind == gguf.KindFloat32:
			config[name], _ = f.Float32(arch + "." + key)
		default:
			config[name], _ = f.Uint32(arch + "." + key)
		}
	}
	if class == "MixtralForCausalLM" {
		config["num_local_experts"] = config["num_experts"]
		delete(config, "num_experts")
	}
	tensors = map[string]theirs{}
	for _, x := range f.Tensors {
		if x.Name == "rope_freqs.weight" {
			continue // comes back of the config
		}
		if x.Name == "output.weight" {
			config["tie_word_embeddings"] = false
		}
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		rows := int(x.Elems() / x.Dims[0])
		if len(x.Dims) == 1 {
			rows = int(x.Dims[0])
		}
		if heads := headsOf(f, x.Name, arch); slices.Contains([]string{"llama", "granite", "smollm3"}, arch) && heads > 0 {
			data = untwist(data, heads, rows)
		}
		dtype := map[uint32]string{0: "F32", 1: "F16", 30: "BF16"}[x.Type]
		shape := slices.Clone(x.Dims)
		slices.Reverse(shape)
		name := folderName(class, x.Name)
		if !strings.Contains(name, "#") {
			if strings.Contains(name, "shared_expert_gate") {
				shape = []uint64{1, x.Elems()}
			}
			tensors[name] = theirs{dtype, shape, data}
			continue
		}
		for e := range int(shape[0]) {
			n := len(data) / int(shape[0])
			tensors[strings.Replace(name, "#", fmt.Sprint(e), 1)] = theirs{dtype, shape[1:], data[e*n : (e+1)*n]}
		}
	}
	return tensors, config
}

func headsOf(f *gguf.File, name, arch string) int {
	key := map[bool]string{strings.Contains(name, ".attn_q."): "head_count", strings.Contains(name, ".attn_k."): "head_count_kv"}[true]
	if key == "" {
		return 0
	}
	n, _ := f.Uint32(arch + ".attention." + key)
	return int(n)
}

// untwist puts neighbours 2i and 2i+1 of each head to i and half+i.
func untwist(data []byte, heads, rows int) []byte {
	var out []byte
	wide, line := rows/heads, len(data)/rows
	for h := range heads {
		for _, odd := range []int{0, 1} {
			for i := odd; i < wide; i += 2 {
				r := h*wide + i
				out = append(out, data[r*line:(r+1)*line]...)
			}
		}
	}
	return out
}

// writeFolder writes a folder with the tensors in n files.
func writeFolder(t *testing.T, tensors map[string]theirs, config map[string]any, n int) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	marshal := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write("config.json", marshal(config))
	names := slices.Sorted(maps.Keys(tensors))
	where := map[string]string{}
	for i := range n {
		header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte(nil)
		file := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, n)
		if n == 1 {
			file = "model.safetensors"
		}
		for _, name := range names[i*len(names)/n : (i+1)*len(names)/n] {
			x := tensors[name]
			header[name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int{len(data), len(data) + len(x.data)}}
			data = append(data, x.data...)
			where[name] = file
		}
		head := marshal(header)
		write(file, append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...))
	}
	if n > 1 {
		write("model.safetensors.index.json", marshal(map[string]any{"metadata": map[string]any{"total_size": 1}, "weight_map": where}))
	}
	return dir
}

// usualFolders are the models whose classes share one set of names.
var usualFolders = []struct {
	name, class string
	files       int
	scaling     map[string]any
}{
	{"llama", "LlamaForCausalLM", 3, nil},
	{"llama", "MistralForCausalLM", 1, nil},
	{"llama_bias", "LlamaForCausalLM", 2, nil},
	{"llama_gqa_tied", "LlamaForCausalLM", 2, nil},
	{"llama_mqa_headdim", "LlamaForCausalLM", 2, nil},
	{"llama_linear", "LlamaForCausalLM", 1, map[string]any{"type": "linear", "factor": 4.0}},
	{"llama_yarn", "LlamaForCausalLM", 1, map[string]any{"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}},
	{"llama3_rope", "LlamaForCausalLM", 2, map[string]any{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
		"original_max_position_embeddings": 64}},
	{"mixtral", "MixtralForCausalLM", 3, nil},
	{"granite", "GraniteForCausalLM", 3, nil},
	{"smollm3", "SmolLM3ForCausalLM", 3, nil},
	{"olmo2", "Olmo2ForCausalLM", 3, nil},
	{"qwen2", "Qwen2ForCausalLM", 3, nil},
	{"qwen2moe", "Qwen2MoeForCausalLM", 3, nil},
	{"qwen3", "Qwen3ForCausalLM", 3, nil},
	{"qwen3moe", "Qwen3MoeForCausalLM", 3, nil},
}

// TestFolders: a golden file as a folder of safetensors is the same model to the bit.
func TestFolders(t *testing.T) {
	for _, c := range usualFolders {
		t.Run(c.name+" "+c.class, func(t *testing.T) {
			f, path, tokens := openGolden(t, c.name)
			tensors, config := toFolder(t, f, c.class)
			if c.scaling != nil {
				config["rope_scaling"] = c.scaling
			}
			sameRows(t, c.name, c.class, writeFolder(t, tensors, config, c.files), path, tokens)
		})
	}
}

// sameRows holds the logits of all rows of a folder against its GGUF file's, to the bit.
func sameRows(t *testing.T, name, class, dir, path string, tokens []int32) {
	t.Helper()
	got, want := logits(t, dir, tokens), reference(t, path, tokens)
	wide, same := len(want)/len(tokens), 0
	for i := range tokens {
		if slices.Equal(got[i*wide:(i+1)*wide], want[i*wide:(i+1)*wide]) {
			same++
		}
	}
	t.Logf("%-20s %-34s %3d of %3d rows", name, class, same, len(tokens))
	sameBits(t, class, got, want)
}

// TestFolderTypes: BF16 and F32 are kept, Q8_0 is made of what there is.
func TestFolderTypes(t *testing.T) {
	for name, class := range map[string]string{"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"} {
		path, tokens := goldenModel(t, name)
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, stored := range []quant.Type{quant.F16, quant.BF16, quant.F32} {
			want := ggufWith(t, f, encoded(stored))
			tensors, config := toFolder(t, want, class)
			dir := writeFolder(t, tensors, config, 2)
			sameBits(t, name+" "+stored.String(), logits(t, dir, tokens), logitsOf(t, want, tokens))
			m, err := hf.Open(dir, hf.Options{Q8_0: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.File.Close()
			// Rows of 176 are five blocks and a half: such matrices stay as they are.
			q8 := ggufWith(t, want, func(tensor string, values []float32) (quant.Type, []byte) {
				if x, _ := want.Tensor(tensor); x.Dims[0]%32 != 0 {
					return encoded(stored)(tensor, values)
				}
				return encoded(quant.Q8_0)(tensor, values)
			})
			sameBits(t, name+" "+stored.String()+" as Q8_0", logitsOf(t, m.File, tokens), logitsOf(t, q8, tokens))
		}
	}
}

// TestFolderF8: matrices of all 256 codes, with scales of every kind, are the products
// of code and scale to the bit.
func TestFolderF8(t *testing.T) {
	for name, class := range map[string]string{"qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"} {
		t.Run(name, func(t *testing.T) { folderF8(t, name, class) })
	}
}

func folderF8(t *testing.T, arch, class string) {
	path, tokens := goldenModel(t, arch)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, kind := range []string{"one", "rows", "blocks"} {
		tensors, config := toFolder(t, f, class)
		config["quantization_config"] = map[string]any{"quant_method": "fp8", "weight_block_size": []int{48, 24}}
		codes := map[string][]byte{}
		scaleAt := func(r, c int) float32 {
			switch kind {
			case "one":
				return 0.0007
			case "rows":
				return 0.0003 + float32(r%5)*0.00013
			}
			return 0.0002 + float32(r/48)*0.00011 + float32(c/24)*0.00007
		}
		for name, x := range maps.Clone(tensors) {
			if len(x.shape) != 2 || !strings.Contains(name, "_proj") {
				continue
			}
			rows, cols := int(x.shape[0]), int(x.shape[1])
			b := make([]byte, rows*cols)
			for i := range b {
				if b[i] = byte(i*37 + i/256*11); b[i]&0x7f == 0x7f {
					b[i] = 0 // not a number
				}
			}
			codes[name] = b
			tensors[name] = theirs{"F8_E4M3", x.shape, b}
			var scales []float32
			shape := []int{}
			end := "_scale"
			switch kind {
			case "one":
				scales = []float32{scaleAt(0, 0)}
			case "rows":
				for r := range rows {
					scales = append(scales, scaleAt(r, 0))
				}
				shape = []int{rows, 1}
			case "blocks":
				end = "_scale_inv"
				for r := 0; r < rows; r += 48 {
					for c := 0; c < cols; c += 24 {
						scales = append(scales, scaleAt(r, c))
					}
				}
				shape = []int{(rows + 47) / 48, (cols + 23) / 24}
			}
			_, sb := encoded(quant.F32)("", scales)
			dims := make([]uint64, 0, 2)
			for _, d := range shape {
				dims = append(dims, uint64(d))
			}
			tensors[name+end] = theirs{"F32", dims, sb}
		}
		want := ggufWith(t, f, func(name string, values []float32) (quant.Type, []byte) {
			b := codes[folderName(class, name)]
			if b == nil {
				return encoded(quant.F16)(name, values)
			}
			x, _ := f.Tensor(name)
			cols := int(x.Dims[0])
			wide := 0 // of heads whose halves become neighbours
			if heads := headsOf(f, name, arch); arch == "llama" && heads > 0 {
				wide = len(b) / cols / heads
			}
			for i := range values {
				r, c := i/cols, i%cols
				if wide > 0 {
					r = r/wide*wide + r%2*wide/2 + r%wide/2
				}
				values[i] = half.F8E4M3ToF32(b[r*cols+c]) * scaleAt(r, c)
			}
			return encoded(quant.F32)(name, values)
		})
		if len(codes) != 3*7 {
			t.Fatalf("%d matrices", len(codes))
		}
		sameBits(t, kind, logits(t, writeFolder(t, tensors, config, 2), tokens), logitsOf(t, want, tokens))
	}
}
