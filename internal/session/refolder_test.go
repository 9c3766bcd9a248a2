package session_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/session"
)

// refolder takes a golden file apart tensor by tensor, as some class of the
// transformers library would have stored it. Which name is which is written down in
// the tests, apart from the tables that are tested.
type refolder struct {
	t      *testing.T
	f      *gguf.File
	arch   string
	layers int
	left   map[string]theirs // by our name
	out    map[string]theirs // by theirs
}

var dtypes = map[quant.Type]string{quant.F32: "F32", quant.F16: "F16", quant.BF16: "BF16"}

// newRefolder reads all tensors. Those of a format that safetensors lacks become F32.
func newRefolder(t *testing.T, f *gguf.File) *refolder {
	t.Helper()
	r := &refolder{t: t, f: f, left: map[string]theirs{}, out: map[string]theirs{}}
	var err error
	if r.arch, err = f.String("general.architecture"); err != nil {
		t.Fatal(err)
	}
	r.layers = int(r.count("block_count"))
	for _, x := range f.Tensors {
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		shape := slices.Clone(x.Dims)
		slices.Reverse(shape)
		dtype := dtypes[quant.Type(x.Type)]
		if dtype == "" && quant.Type(x.Type) != quant.MXFP4 {
			values := make([]float32, x.Elems())
			format, _ := quant.Lookup(quant.Type(x.Type))
			format.Decode(values, data)
			_, data = encoded(quant.F32)("", values)
			dtype = "F32"
		}
		r.left[x.Name] = theirs{dtype, shape, data}
	}
	return r
}

// count and number read the architecture's keys; 0 where there is none.
func (r *refolder) count(key string) uint32 {
	n, _ := r.f.Uint32(r.arch + "." + key)
	return n
}

func (r *refolder) number(key string) float32 {
	x, _ := r.f.Float32(r.arch + "." + key)
	return x
}

// take hands out a tensor that must be there, once.
func (r *refolder) take(ours string) theirs {
	r.t.Helper()
	x, ok := r.left[ours]
	if !ok {
		r.t.Fatalf("no tensor %s", ours)
	}
	delete(r.left, ours)
	return x
}

func (r *refolder) has(ours string) bool {
	_, ok := r.left[ours]
	return ok
}

// move renames tensors by a table from ours to theirs, with and without their ends;
// "#" of a layer's name there stands for its number. Absent ones are passed over:
// done finds what no table has.
func (r *refolder) move(outer, layer map[string]string) {
	r.t.Helper()
	for _, end := range []string{".weight", ".bias"} {
		for ours, name := range outer {
			if r.has(ours + end) {
				r.out[name+end] = r.take(ours + end)
			}
		}
		for l := range r.layers {
			for ours, name := range layer {
				if full := fmt.Sprintf("blk.%d.%s%s", l, ours, end); r.has(full) {
					r.out[strings.Replace(name, "#", fmt.Sprint(l), 1)+end] = r.take(full)
				}
			}
		}
	}
}

// done returns what was written and finds what was not.
func (r *refolder) done() map[string]theirs {
	r.t.Helper()
	if len(r.left) != 0 {
		r.t.Fatalf("not in the folder: %v", slices.Sorted(maps.Keys(r.left)))
	}
	return r.out
}

var (
	decoderOuter = map[string]string{"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
	decoderNorms = map[string]string{"attn_norm": "model.layers.#.input_layernorm", "ffn_norm": "model.layers.#.post_attention_layernorm"}
	decoderHeads = map[string]string{"attn_q": "model.layers.#.self_attn.q_proj", "attn_k": "model.layers.#.self_attn.k_proj",
		"attn_v": "model.layers.#.self_attn.v_proj", "attn_output": "model.layers.#.self_attn.o_proj"}
)

// decoderConfig are the keys that all decoders have there.
func (r *refolder) decoderConfig(class string) map[string]any {
	return map[string]any{
		"architectures": []string{class}, "hidden_act": "silu", "hidden_size": r.count("embedding_length"), "num_hidden_layers": r.layers,
		"num_attention_heads": r.count("attention.head_count"), "num_key_value_heads": r.count("attention.head_count_kv"),
		"intermediate_size": r.count("feed_forward_length"), "max_position_embeddings": r.count("context_length"), "vocab_size": r.count("vocab_size"),
		"rms_norm_eps": r.number("attention.layer_norm_rms_epsilon"), "rope_theta": r.number("rope.freq_base"), "tie_word_embeddings": !r.has("output.weight"),
		"num_experts_per_tok": r.count("expert_used_count"), "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": true,
	}
}

// each cuts a tensor along its first dimension.
func (x theirs) each() (list []theirs) {
	n := int(x.shape[0])
	for i := range n {
		size := len(x.data) / n
		list = append(list, theirs{x.dtype, x.shape[1:], x.data[i*size : (i+1)*size]})
	}
	return list
}

// stacked is the tensor whose first dimension counts those of the list.
func stacked(list []theirs) theirs {
	x := theirs{list[0].dtype, append([]uint64{uint64(len(list))}, list[0].shape...), nil}
	for _, one := range list {
		x.data = append(x.data, one.data...)
	}
	return x
}

// joined is two tensors behind each other.
func joined(a, b theirs) theirs {
	shape := slices.Clone(a.shape)
	shape[0] += b.shape[0]
	return theirs{a.dtype, shape, slices.Concat(a.data, b.data)}
}

// mixed takes the rows of two tensors in turn.
func mixed(a, b theirs) theirs {
	x := theirs{a.dtype, slices.Clone(a.shape), nil}
	x.shape[0] *= 2
	rows, more := a.each(), b.each()
	for i := range rows {
		x.data = append(append(x.data, rows[i].data...), more[i].data...)
	}
	return x
}

// turned exchanges the two dimensions of a matrix.
func (x theirs) turned() theirs {
	rows, cols := int(x.shape[0]), int(x.shape[1])
	wide := len(x.data) / rows / cols
	y := theirs{x.dtype, []uint64{x.shape[1], x.shape[0]}, nil}
	for c := range cols {
		for r := range rows {
			at := (r*cols + c) * wide
			y.data = append(y.data, x.data[at:at+wide]...)
		}
	}
	return y
}

// rekeyed is the file with some keys set anew (nil: taken away), some tensors left out
// and others added: a variant of a golden model as a GGUF file to compare with.
func rekeyed(t *testing.T, f *gguf.File, set map[string]any, without []string, add ...ggufwrite.Tensor) *gguf.File {
	t.Helper()
	kvs := slices.DeleteFunc(kvsOf(t, f), func(kv ggufwrite.KV) bool { _, ok := set[kv.Key]; return ok })
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] != nil {
			kvs = append(kvs, ggufwrite.KV{Key: key, Value: set[key]})
		}
	}
	list := add
	for _, x := range f.Tensors {
		if slices.ContainsFunc(without, func(part string) bool { return strings.Contains(x.Name, part) }) {
			continue
		}
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ggufwrite.Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims, Data: data})
	}
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, kvs, list); err != nil {
		t.Fatal(err)
	}
	g, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func openGolden(t *testing.T, name string) (f *gguf.File, path string, tokens []int32) {
	t.Helper()
	path, tokens = goldenModel(t, name)
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path, tokens
}

// writeFile writes a further file of a folder.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pooled are the bits of what a model makes of some beginnings of the tokens.
func pooled(t *testing.T, path string, tokens []int32) []uint32 {
	t.Helper()
	return pooledBy(t, tokens, func(d backend.Device, l session.Limits) (*session.Session, error) {
		return session.Open(path, d, l, nil)
	})
}

func pooledOf(t *testing.T, f *gguf.File, tokens []int32) []uint32 {
	t.Helper()
	return pooledBy(t, tokens, func(d backend.Device, l session.Limits) (*session.Session, error) {
		return session.OpenFile(f, d, l, nil)
	})
}

func pooledBy(t *testing.T, tokens []int32, open func(backend.Device, session.Limits) (*session.Session, error)) (bits []uint32) {
	t.Helper()
	device := cpu.New(cpu.Options{Threads: 1})
	defer device.Close()
	s, err := open(device, session.Limits{Seqs: 1, Context: len(tokens), Rows: len(tokens), Logits: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Embeds() {
		t.Fatal("it embeds nothing")
	}
	for _, n := range []int{1, 7, len(tokens)} {
		row, err := s.Step(session.Span{Tokens: tokens[:n]})
		if err != nil {
			t.Fatal(err)
		}
		if len(row) == 0 || row[0] == 0 {
			t.Fatalf("%d tokens: a row of %d that begins with 0", n, len(row))
		}
		for _, x := range row {
			bits = append(bits, math.Float32bits(x))
		}
	}
	return bits
}

// safetensorsOf is the content of a file with the tensors.
func safetensorsOf(t *testing.T, tensors map[string]theirs) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(writeFolder(t, tensors, nil, 1), "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
