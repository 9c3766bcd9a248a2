package model

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// made is a file of one architecture, 2 layers, to be spoilt.
type made struct {
	kvs     []ggufwrite.KV
	tensors []ggufwrite.Tensor
}

func (m *made) set(key string, v any) {
	for i := range m.kvs {
		if m.kvs[i].Key == key {
			m.kvs[i].Value = v
			return
		}
	}
	m.kvs = append(m.kvs, ggufwrite.KV{Key: key, Value: v})
}

func (m *made) drop(key string) {
	m.kvs = slices.DeleteFunc(m.kvs, func(kv ggufwrite.KV) bool { return kv.Key == key })
}

func (m *made) tensor(name string, dims ...uint64) {
	n := uint64(4)
	for _, d := range dims {
		n *= d
	}
	m.remove(name)
	m.tensors = append(m.tensors, ggufwrite.Tensor{Name: name, Dims: dims, Data: bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, int(n/4))}) // ones
}

func (m *made) remove(name string) {
	m.tensors = slices.DeleteFunc(m.tensors, func(t ggufwrite.Tensor) bool { return t.Name == name })
}

func (m *made) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, m.kvs, m.tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func makeFile(arch string) *made {
	m := &made{}
	m.set("general.architecture", arch)
	for key, v := range map[string]uint32{"context_length": 64, "block_count": 2, "embedding_length": 32, "feed_forward_length": 48,
		"attention.head_count": 4, "attention.head_count_kv": 2} {
		m.set(arch+"."+key, v)
	}
	slices.SortFunc(m.kvs, func(a, b ggufwrite.KV) int { return strings.Compare(a.Key, b.Key) })
	m.set(arch+".attention.layer_norm_rms_epsilon", float32(1e-5))
	m.tensor("token_embd.weight", 32, 40)
	m.tensor("output_norm.weight", 32)
	for l := range 2 {
		add := func(part string, dims ...uint64) { m.tensor(fmt.Sprintf("blk.%d.%s", l, part), dims...) }
		add("attn_norm.weight", 32)
		add("attn_q.weight", 32, 32)
		add("attn_k.weight", 32, 16)
		add("attn_v.weight", 32, 16)
		add("attn_output.weight", 32, 32)
		add("ffn_norm.weight", 32)
		add("ffn_gate.weight", 32, 48)
		add("ffn_up.weight", 32, 48)
		add("ffn_down.weight", 48, 32)
		switch arch {
		case "qwen2":
			add("attn_q.bias", 32)
			add("attn_k.bias", 16)
			add("attn_v.bias", 16)
		case "qwen3":
			add("attn_q_norm.weight", 8)
			add("attn_k_norm.weight", 8)
		}
	}
	return m
}

// TestMade asks that the file that the next test spoils is good itself.
func TestMade(t *testing.T) {
	f, err := gguf.Parse(makeFile("llama").bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Lower(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !m.Spec.Tied || m.Spec.Vocab != 40 || m.Spec.HeadDim != 8 || m.Spec.ValueDim != 8 {
		t.Errorf("lowered to %+v", m.Spec)
	}
}

// TestSpoilt takes each head and each tensor away in turn, and each key, or makes
// it absurd: the answer is a program that checks or a typed error.
func TestSpoilt(t *testing.T) {
	heads, err := filepath.Glob("testdata/*.head")
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range heads {
		name := strings.TrimSuffix(filepath.Base(head), ".head")
		whole := readHead(t, name)
		for i := range whole.kvs {
			for _, v := range []any{nil, uint32(0), uint32(7), uint32(1 << 31), float32(-1)} {
				m := &made{kvs: slices.Clone(whole.kvs), tensors: whole.tensors}
				if m.kvs[i].Value = v; v == nil {
					m.kvs = slices.Delete(m.kvs, i, i+1)
				}
				lowerSpoilt(t, fmt.Sprintf("%s with %s = %v", name, whole.kvs[i].Key, v), m)
			}
		}
		for i, x := range whole.tensors {
			if i > 30 {
				break // the layers are alike
			}
			m := &made{kvs: whole.kvs, tensors: slices.Delete(slices.Clone(whole.tensors), i, i+1)}
			lowerSpoilt(t, fmt.Sprintf("%s without %s", name, x.Name), m)
		}
	}
}

func lowerSpoilt(t *testing.T, what string, m *made) {
	t.Helper()
	f, err := gguf.Parse(m.light().bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := Lower(f, Options{})
	var arch *ArchError
	var key *KeyError
	var tensor *TensorError
	var format *gguf.FormatError
	switch {
	case err == nil:
		if err := lowered.Program.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case !errors.As(err, &arch) && !errors.As(err, &key) && !errors.As(err, &tensor) && !errors.As(err, &format):
		t.Errorf("%s: %v (%T) is no typed error", what, err, err)
	}
}

// light is the same file with matrices in a format of little more than a bit a
// value, where it fits: writing and reading it is quick.
func (m *made) light() *made {
	const q1 = 41 // q1_0: blocks of 128 in 18 bytes
	l := &made{kvs: m.kvs}
	for _, x := range m.tensors {
		if x.Dims[0]%128 == 0 {
			x.Type = q1
		} else if len(x.Dims) > 1 && x.Dims[0]%64 == 0 {
			x.Type = q1 + 1 // q2_0: blocks of 64
		}
		if n, err := x.Size(); err == nil {
			x.Data = x.Data[:n]
		}
		l.tensors = append(l.tensors, x)
	}
	return l
}

// TestHostile spoils one thing at a time and asks for one typed error that
// names it, with allocations below the file's size and some slack.
func TestHostile(t *testing.T) {
	const q0 = "blk.0.attn_q.weight"
	for _, c := range []struct {
		name  string
		spoil func(m *made)
		text  string
	}{
		{"no architecture", func(m *made) { m.drop("general.architecture") }, "general.architecture"},
		{"architecture of another type", func(m *made) { m.set("general.architecture", uint32(1)) }, "general.architecture"},
		{"unknown architecture", func(m *made) { m.set("general.architecture", "mamba") }, `architecture "mamba" is not supported; supported are `},
		{"no layers", func(m *made) { m.set("llama.block_count", uint32(0)) }, "llama.block_count is 0, must be 1 to"},
		{"too many layers", func(m *made) { m.set("llama.block_count", uint32(4000)) }, "llama.block_count is 4000, must be at most the number of tensors"},
		{"layers beyond reason", func(m *made) { m.set("llama.block_count", uint32(1<<31)) }, "llama.block_count is 2147483648"},
		{"more layers than there are", func(m *made) { m.set("llama.block_count", uint32(3)) }, `"blk.2.attn_norm.weight" is missing`},
		{"fewer layers than there are", func(m *made) { m.set("llama.block_count", uint32(1)) }, "does not have; loading it would give wrong results"},
		{"layers as text", func(m *made) { m.set("llama.block_count", "two") }, "llama.block_count"},
		{"layers as list", func(m *made) { m.set("llama.block_count", []uint32{2, 2}) }, "llama.block_count"},
		{"layers below zero", func(m *made) { m.set("llama.block_count", int32(-1)) }, "llama.block_count"},
		{"layers missing", func(m *made) { m.drop("llama.block_count") }, "llama.block_count"},
		{"no heads", func(m *made) { m.set("llama.attention.head_count", uint32(0)) }, "llama.attention.head_count is 0"},
		{"no kv heads", func(m *made) { m.set("llama.attention.head_count_kv", uint32(0)) }, "llama.attention.head_count_kv is 0"},
		{"heads per layer", func(m *made) { m.set("llama.attention.head_count_kv", []uint32{2, 4}) }, "head_count_kv"},
		{"heads not grouped", func(m *made) { m.set("llama.attention.head_count_kv", uint32(3)) }, "must be a multiple of head_count_kv, which is 3"},
		{"width not divisible", func(m *made) {
			m.set("llama.attention.head_count", uint32(6))
			m.set("llama.attention.head_count_kv", uint32(2))
		}, "llama.embedding_length is 32, must be a multiple of head_count, which is 6"},
		{"no width", func(m *made) { m.set("llama.embedding_length", uint32(0)) }, "llama.embedding_length is 0"},
		{"width beyond the file", func(m *made) { m.set("llama.embedding_length", uint32(1<<20)) }, `tensor "` + q0 + `" is 32×32, by the metadata it must be`},
		{"no ffn", func(m *made) { m.set("llama.feed_forward_length", uint32(0)) }, "llama.feed_forward_length is 0"},
		{"ffn beyond the file", func(m *made) { m.set("llama.feed_forward_length", uint32(1<<24)) }, `"blk.0.ffn_gate.weight" is 48×32, by the metadata it must be 16777216×32`},
		{"ffn of each layer", func(m *made) { m.set("llama.feed_forward_length", []uint32{48, 32}) }, "llama.feed_forward_length[1] is 32, must be 48, as in layer 0"},
		{"heads of each layer", func(m *made) { m.set("llama.attention.head_count", []int32{4, 8}) }, "llama.attention.head_count[1] is 8"},
		{"heads of too few layers", func(m *made) { m.set("llama.attention.head_count", []uint32{4}) }, "one for each of 2 layers"},
		{"heads below zero", func(m *made) { m.set("llama.attention.head_count", []int32{-4, -4}) }, "llama.attention.head_count[0] is -4"},
		{"heads of texts", func(m *made) { m.set("llama.attention.head_count", []string{"4", "4"}) }, "llama.attention.head_count"},
		{"further layers", func(m *made) { m.set("llama.nextn_predict_layers", uint32(1)) }, "llama.nextn_predict_layers is 1"},
		{"no context", func(m *made) { m.set("llama.context_length", uint32(0)) }, "llama.context_length is 0"},
		{"head beyond the file", func(m *made) { m.set("llama.attention.key_length", uint32(4096)) }, `tensor "` + q0 + `" is 32×32, by the metadata it must be 16384×32`},
		{"head of nothing", func(m *made) { m.set("llama.attention.key_length", uint32(0)) }, "llama.attention.key_length is 0"},
		{"values of another width", func(m *made) { m.set("llama.attention.value_length", uint32(4)) }, `"blk.0.attn_v.weight" is 16×32, by the metadata it must be 8×32`},
		{"odd rotation", func(m *made) { m.set("llama.rope.dimension_count", uint32(7)) }, "llama.rope.dimension_count is 7, must be even and at most the head's width, 8"},
		{"rotation beyond the head", func(m *made) { m.set("llama.rope.dimension_count", uint32(10)) }, "rope.dimension_count is 10"},
		{"base zero", func(m *made) { m.set("llama.rope.freq_base", float32(0)) }, "llama.rope.freq_base is 0, must be a positive number"},
		{"base one", func(m *made) { m.set("llama.rope.freq_base", float32(1)) }, "llama.rope.freq_base is 1, must be above 1"},
		{"base infinite", func(m *made) { m.set("llama.rope.freq_base", float32(inf())) }, "rope.freq_base is +Inf"},
		{"scaling unknown", func(m *made) { m.set("llama.rope.scaling.type", "dynamic") }, `rope.scaling.type is "dynamic", must be none, linear, yarn or longrope`},
		{"scaling without its factors", func(m *made) { m.set("llama.rope.scaling.type", "longrope") }, `rope.scaling.type is "longrope", must be of a file with the tensors rope_factors_long`},
		{"scaling of another type", func(m *made) { m.set("llama.rope.scaling.type", uint32(1)) }, "rope.scaling.type"},
		{"factor below zero", func(m *made) {
			m.set("llama.rope.scaling.type", "linear")
			m.set("llama.rope.scaling.factor", float32(-1))
		}, "llama.rope.scaling.factor is -1"},
		{"factor not a number", func(m *made) {
			m.set("llama.rope.scaling.type", "yarn")
			m.set("llama.rope.scaling.factor", float32(inf()-inf()))
		}, "rope.scaling.factor is NaN"},
		{"epsilon zero", func(m *made) { m.set("llama.attention.layer_norm_rms_epsilon", float32(0)) }, "layer_norm_rms_epsilon is 0"},
		{"epsilon as integer", func(m *made) { m.set("llama.attention.layer_norm_rms_epsilon", uint32(1)) }, "layer_norm_rms_epsilon"},
		{"more experts used than there are", func(m *made) {
			m.set("llama.expert_count", uint32(8))
			m.set("llama.expert_used_count", uint32(9))
		}, "llama.expert_used_count is 9, must be 1 to 8"},
		{"groups that do not divide the experts", func(m *made) {
			m.set("llama.expert_count", uint32(8))
			m.set("llama.expert_used_count", uint32(2))
			m.set("llama.expert_group_count", uint32(3))
		}, "llama.expert_group_count is 3, must be a divisor of 8 experts"},
		{"experts without their tensors", func(m *made) {
			m.set("llama.expert_count", uint32(8))
			m.set("llama.expert_used_count", uint32(2))
		}, `"blk.0.ffn_gate_inp.weight" is missing`},
		{"vocabulary of another size", func(m *made) { m.set("llama.vocab_size", uint32(41)) }, "llama.vocab_size is 41, must be the rows of token_embd.weight, 40"},
		{"no embedding", func(m *made) { m.remove("token_embd.weight") }, `"token_embd.weight" is missing`},
		{"embedding of another width", func(m *made) { m.tensor("token_embd.weight", 16, 40) }, `"token_embd.weight" is 40×16`},
		{"output of another size", func(m *made) { m.tensor("output.weight", 32, 39) }, `"output.weight" is 39×32, by the metadata it must be 40×32`},
		{"no query", func(m *made) { m.remove(q0) }, `"` + q0 + `" is missing`},
		{"norm of another width", func(m *made) { m.tensor("blk.1.ffn_norm.weight", 33) }, `"blk.1.ffn_norm.weight" is 1×33`},
		{"bias of another width", func(m *made) { m.tensor("blk.1.attn_k.bias", 15) }, `"blk.1.attn_k.bias" is 1×15`},
		{"a stranger", func(m *made) { m.tensor("blk.1.attn_sinks", 4) }, `"blk.1.attn_sinks" is a tensor that this architecture does not have`},
		{"factors of another length", func(m *made) { m.tensor("rope_freqs.weight", 5) }, `"rope_freqs.weight" is 1×5`},
		{"factors of zero", func(m *made) {
			m.tensor("rope_freqs.weight", 4)
			clear(m.tensors[len(m.tensors)-1].Data[4:8])
		}, "rope_freqs.weight[1] is 0"},
		{"factors of f16", func(m *made) {
			m.tensor("rope_freqs.weight", 4)
			x := &m.tensors[len(m.tensors)-1]
			x.Type, x.Data = 1, x.Data[:8]
		}, `"rope_freqs.weight" is of f16`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := makeFile("llama")
			c.spoil(m)
			data := m.bytes(t)
			f, err := gguf.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = Lower(f, Options{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want an error with %q", err, c.text)
			}
			var arch *ArchError
			var key *KeyError
			var tensor *TensorError
			var format *gguf.FormatError
			if !errors.As(err, &arch) && !errors.As(err, &key) && !errors.As(err, &tensor) && !errors.As(err, &format) {
				t.Errorf("%T is no typed error", err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(data)) {
				t.Errorf("%d bytes allocated for a file of %d", n, len(data))
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	for text, err := range map[string]error{
		"architecture": &ArchError{Arch: "x", Known: Archs()},
		"must be":      &KeyError{Key: "k", Value: 1, Bound: "2", Err: ErrUnsupported},
	} {
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not unwrap to ErrUnsupported", err)
		}
	}
	long := &ArchError{Arch: strings.Repeat("x", 10000), Known: Archs()}
	if len(long.Error()) > 600 {
		t.Errorf("a hostile name makes an error of %d bytes", len(long.Error()))
	}
}

func inf() float64 { var zero float64; return 1 / zero }

// FuzzLower changes files and asks for a program that checks, or an error.
func FuzzLower(f *testing.F) {
	for _, arch := range []string{"llama", "qwen2", "qwen3", "gemma", "granite", "smollm3"} { // the same tensors, or nearly
		f.Add(makeFile(arch).bytes(f))
	}
	m := makeFile("llama")
	m.set("llama.rope.scaling.type", "yarn")
	m.set("llama.rope.scaling.factor", float32(4))
	m.tensor("rope_freqs.weight", 4)
	f.Add(m.bytes(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		var lowered *Model
		bounded.Hold(t, bounded.Bytes{Base: 1 << 20, Each: 256}, len(data), func() { lowered, err = Lower(file, Options{}) })
		if err != nil {
			return
		}
		if err := lowered.Program.Check(); err != nil {
			t.Error(err)
		}
	})
}
