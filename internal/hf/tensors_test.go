package hf

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/model"
)

// looseConfig has, under all the names there are, the sizes of a model of one layer
// that most classes take.
const looseConfig = `"hidden_size":8,"n_embd":8,"num_hidden_layers":1,"n_layer":1,"num_attention_heads":2,"n_head":2,"num_key_value_heads":1,"intermediate_size":8,
	"n_inner":8,"max_position_embeddings":8,"n_positions":8,"rms_norm_eps":1e-5,"layer_norm_eps":1e-5,"layer_norm_epsilon":1e-5,"norm_eps":1e-5,
	"num_experts_per_tok":1,"moe_intermediate_size":8,"head_dim":4,"query_pre_attn_scalar":4,"layer_types":["full_attention"],"block_auto_adjust_ff_dim":false,
	"sliding_window":null,"eos_token_id":1,"kv_lora_rank":8,"qk_rope_head_dim":2,"qk_nope_head_dim":2,"v_head_dim":2,"first_k_dense_replace":0,"n_group":1,"topk_group":1`

// safetensorsFile is a file of tensors of one type, but for scales, which are F32; all
// bytes are zero.
func safetensorsFile(t *testing.T, typ string, bytes int, shapes map[string][]int) []byte {
	t.Helper()
	header, at := map[string]any{}, 0
	for name, shape := range shapes {
		typ, n := typ, bytes
		if strings.HasSuffix(name, "_scale") {
			typ, n = "F32", 4
		}
		for _, d := range shape {
			n *= d
		}
		header[name] = map[string]any{"dtype": typ, "shape": shape, "data_offsets": []int{at, at + n}}
		at += n
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), make([]byte, at)...)
}

// FuzzTensors: tensors under a class's own names are taken or refused, whatever their
// shapes; what is taken can be read in full.
func FuzzTensors(f *testing.F) {
	for i := range families {
		f.Add(byte(i), byte(i%3), []byte{})
		f.Add(byte(i), byte(3), []byte{})
		f.Add(byte(i), byte(128+i%3), []byte{0, 0, 250, 8, 0, 0, 255, 4, 8})
	}
	types := []struct {
		name  string
		bytes int
	}{{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}, {"U8", 1}, {"I64", 8}}
	opened := 0
	f.Cleanup(func() { f.Logf("%d opened", opened) })
	f.Fuzz(func(t *testing.T, class, typ byte, dims []byte) {
		family := families[int(class)%len(families)]
		next := func() int {
			if len(dims) == 0 {
				return 0
			}
			n := int(dims[0])
			dims = append(dims[1:len(dims):len(dims)], dims[0])
			return n
		}
		k := types[int(typ&127)%len(types)]
		shapes, root := map[string][]int{}, family.rootNames()[0]
		if next()%2 != 0 {
			root = ""
		}
		for _, n := range family.names {
			end := ".weight"
			if strings.HasSuffix(n.ours, end) || strings.HasSuffix(n.ours, ".bias") {
				end = ""
			}
			for e := range 2 {
				name := root + strings.Replace(strings.Replace(n.theirs, "#", "0", 1), "#", fmt.Sprint(e), 1) + end
				shape := []int{8, 8}
				if n := next(); n > 240 { // few, for others are to be reached too
					shape = nil
					for range n % 5 {
						shape = append(shape, next()%17)
					}
				}
				shapes[name] = shape
				if base, ok := strings.CutSuffix(name, blocksEnd); ok && k.name == "U8" && len(shape) > 0 {
					shapes[base+"_scales"] = shape[:len(shape)-1]
				}
				if k.name == "F8_E4M3" {
					shapes[name+"_scale"] = shapes[name][:0]
				}
			}
		}
		config := fmt.Sprintf(`{"architectures":[%q],%s}`, family.class, looseConfig)
		if family.experts != "" {
			config = fmt.Sprintf(`{"architectures":[%q],%q:2,%s}`, family.class, family.experts, looseConfig)
		}
		if family.arch == "deepseek2" { // all heads have the same keys
			config = strings.Replace(config, `"num_key_value_heads":1`, `"num_key_value_heads":2`, 1)
		}
		if family.nested != "" {
			config = fmt.Sprintf(`{"architectures":[%q],%q:{%s}}`, family.class, family.nested, looseConfig)
		}
		files := fstest.MapFS{"m/config.json": {Data: []byte(config)}, "m/model.safetensors": {Data: safetensorsFile(t, k.name, k.bytes, shapes)}}
		if family.embeds {
			files["m/modules.json"] = &fstest.MapFile{Data: []byte(`[{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"path":"p","type":"sentence_transformers.models.Pooling"}]`)}
			files["m/p/config.json"] = &fstest.MapFile{Data: []byte(`{"pooling_mode_mean_tokens":true}`)}
		}
		m, err := OpenFS(files, "m", Options{Q8_0: typ > 127})
		if err != nil {
			return
		}
		defer m.File.Close()
		opened++
		_, _ = model.Lower(m.File, model.Options{})
		for _, x := range m.File.Tensors {
			if err := m.File.ReadTensor(x, func(b []byte) error {
				if uint64(len(b)) != x.Size {
					t.Errorf("%s: %d bytes of %s, %d announced", family.class, len(b), x.Name, x.Size)
				}
				return nil
			}); err != nil {
				t.Errorf("%s: %s: %v", family.class, x.Name, err)
			}
		}
	})
}
