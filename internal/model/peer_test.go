package model_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/session"
)

var peerFiles = flag.String("peer", "", "a folder: write there the files of TestPeer, and the tokens, for a run of the peer")

// peerCases are files in which an architecture differs from the golden one's in what
// its keys or its tensors say. peer.tsv holds what llama.cpp made of them.
var peerCases = []struct {
	name, head string
	edit       func(m model.Made)
}{
	{"qwen2-biases", "qwen2", func(m model.Made) {
		m.Tensor("output.bias", 512)
		m.Remove("blk.0.attn_k.bias")
		m.Remove("blk.2.attn_q.bias")
	}},
	{"qwen3-biases", "qwen3", func(m model.Made) {
		m.Tensor("blk.1.attn_q.bias", 128)
		m.Tensor("blk.1.attn_v.bias", 64)
	}},
	{"olmo2-fused", "olmo2", func(m model.Made) {
		fuse(m, "blk.1.", 64, 192)
		m.Tensor("blk.1.attn_q.bias", 64)
		m.Tensor("blk.1.attn_k.bias", 64)
		m.Tensor("blk.1.attn_v.bias", 64)
	}},
	{"gemma-fused", "gemma", func(m model.Made) {
		fuse(m, "blk.0.", 64, 128)
		m.Tensor("blk.0.attn_qkv.bias", 128)
	}},
	{"gemma2-near-base", "gemma2", func(m model.Made) { m.Set("gemma2.rope.freq_base_swa", float32(300)) }},
	{"gptoss-near-base", "gptoss", func(m model.Made) { m.Set("gpt-oss.rope.freq_base_swa", float32(300)) }},
	{"gemma3-yarn", "gemma3", func(m model.Made) {
		yarn(m, "gemma3")
		m.Set("gemma3.rope.scaling.attn_factor", float32(1.3))
		m.Set("gemma3.attention.sliding_window_pattern", []bool{true, false, true, true, false, false})
	}},
	{"olmo3-yarn", "olmo3", func(m model.Made) {
		m.Set("olmo2.rope.scaling.attn_factor", float32(1.3))
		m.Set("olmo2.attention.sliding_window_pattern", []uint32{1, 0, 0, 1})
	}},
	{"phi3-window", "phi3", func(m model.Made) { m.Set("phi3.attention.sliding_window", uint32(5)) }},
	{"llama-longrope", "llama", func(m model.Made) {
		m.Set("llama.rope.scaling.type", "longrope")
		m.Set("llama.rope.scaling.factor", float32(4))
		m.Set("llama.rope.scaling.original_context_length", uint32(64))
		m.Tensor("rope_factors_long.weight", 8)
		m.Tensor("rope_factors_short.weight", 8)
	}},
	{"llama-layers", "llama", func(m model.Made) {
		m.Set("llama.attention.head_count", []uint32{4, 4, 4})
		m.Set("llama.attention.head_count_kv", []int32{4, 4, 4})
		m.Set("llama.feed_forward_length", []int32{176, 176, 176})
		m.Set("llama.rope.scaling.factor", float32(0))
	}},
	{"granite-unrotated", "granite", func(m model.Made) {
		m.Set("granite.rope.scaling.finetuned", false)
		m.Set("granite.residual_scale", float32(0))
		m.Set("granite.attention.scale", float32(0))
	}},
	{"granite-experts", "granite", func(m model.Made) { experts(m, "granite", 3, 160) }},
	{"mistral3-experts", "mistral3", func(m model.Made) { experts(m, "mistral3", 3, 160) }},
	{"lfm2-window", "lfm2", func(m model.Made) { m.Set("lfm2.attention.sliding_window", uint32(9)) }},
	{"deepseek2-linear", "deepseek2", func(m model.Made) {
		m.Set("deepseek2.rope.scaling.type", "linear")
		m.Set("deepseek2.rope.scaling.yarn_log_multiplier", float32(0))
		m.Set("deepseek2.rope.scaling.attn_factor", float32(1.1))
		m.Set("deepseek2.attention.temperature_scale", float32(0.3))
		m.Set("deepseek2.attention.temperature_length", uint32(8))
		m.Set("deepseek2.expert_weights_scale", float32(0))
		m.Set("deepseek2.expert_gating_func", uint32(0))
	}},
	{"bert-fused", "bert", func(m model.Made) {
		fuse(m, "blk.1.", 64, 192)
		for _, part := range []string{"q", "k", "v"} {
			m.Remove("blk.1.attn_" + part + ".bias")
		}
		m.Tensor("blk.1.attn_qkv.bias", 192)
		m.Remove("blk.2.attn_k.bias")
	}},
	{"bert-rank", "bert", func(m model.Made) {
		m.Set("bert.pooling_type", uint32(4))
		m.Tensor("cls.weight", 64, 64)
		m.Tensor("cls.bias", 64)
		m.Tensor("cls.output.weight", 64, 1)
		m.Tensor("cls.output.bias", 1)
	}},
	{"nomic-apart", "nomic_bert", func(m model.Made) {
		m.Remove("blk.0.attn_qkv.weight")
		for _, part := range []string{"q", "k", "v"} {
			m.Tensor("blk.0.attn_"+part+".weight", 64, 64)
			m.Tensor("blk.1.attn_"+part+".bias", 64)
		}
	}},
	{"modern-bert-silu", "modern_bert", func(m model.Made) {
		m.Set("modern-bert.hidden_activation", "silu")
		m.Set("modern-bert.attention.sliding_window_pattern", uint32(2))
		m.Set("modern-bert.attention.sliding_window", uint32(7))
		m.Tensor("blk.0.attn_norm.weight", 64)
		yarn(m, "modern-bert")
	}},
	{"modern-bert-rank", "modern_bert", func(m model.Made) {
		m.Set("modern-bert.pooling_type", uint32(4))
		m.Set("modern-bert.classifier.output_labels", []string{"no", "yes"})
		m.Tensor("cls.weight", 64, 64)
		m.Tensor("cls.norm.weight", 64)
		m.Tensor("cls.output.weight", 64, 2)
		m.Tensor("cls.output.bias", 2)
	}},
	{"gemma-embedding-linear", "gemma_embedding", func(m model.Made) {
		m.Set("gemma-embedding.rope.scaling.type", "linear")
		m.Set("gemma-embedding.rope.scaling.factor", float32(4))
	}},
}

// fuse puts a layer's queries, keys and values into one matrix.
func fuse(m model.Made, layer string, embd, rows uint64) {
	for _, part := range []string{"q", "k", "v"} {
		m.Remove(layer + "attn_" + part + ".weight")
	}
	m.Tensor(layer+"attn_qkv.weight", embd, rows)
}

func yarn(m model.Made, arch string) {
	m.Set(arch+".rope.scaling.type", "yarn")
	m.Set(arch+".rope.scaling.factor", float32(4))
	m.Set(arch+".rope.scaling.original_context_length", uint32(32))
}

// experts puts four experts, of which two are used, into all layers.
func experts(m model.Made, arch string, layers int, ffn uint64) {
	m.Set(arch+".expert_count", uint32(4))
	m.Set(arch+".expert_used_count", uint32(2))
	for l := range layers {
		part := func(name string) string { return fmt.Sprintf("blk.%d.ffn_%s.weight", l, name) }
		for _, name := range []string{"gate", "up", "down"} {
			m.Remove(part(name))
		}
		m.Tensor(part("gate_inp"), 64, 4)
		m.Tensor(part("gate_exps"), 64, ffn, 4)
		m.Tensor(part("up_exps"), 64, ffn, 4)
		m.Tensor(part("down_exps"), ffn, 64, 4)
	}
}

// peerTokens is the prompt of all cases.
func peerTokens() (tokens []int32) {
	for i := range 40 {
		tokens = append(tokens, int32(3+(i*i*37+i*101)%509))
	}
	return tokens
}

// TestPeer holds the logits, or the embedding, of each case against what llama.cpp
// computed from the same bytes.
func TestPeer(t *testing.T) {
	want := readPeer(t)
	for _, c := range peerCases {
		t.Run(c.name, func(t *testing.T) {
			m := model.ReadHead(t, c.head)
			m.Set("tokenizer.ggml.model", "none")
			m.Set("tokenizer.ggml.token_type_count", uint32(2))
			c.edit(m)
			data := m.Bytes(t)
			if *peerFiles != "" {
				if err := os.WriteFile(filepath.Join(*peerFiles, c.name+".gguf"), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			f, err := gguf.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			got := runPeerCase(t, f)
			if len(want[c.name]) == 0 {
				t.Fatalf("peer.tsv has no numbers of %s", c.name)
			}
			worst := 0.0
			for i, w := range want[c.name] {
				worst = max(worst, math.Abs(float64(got[i*len(got)/len(want[c.name])])-w))
			}
			if !(worst < 1e-3) {
				t.Errorf("differs by %g", worst)
			}
		})
	}
	if len(want) != len(peerCases) {
		t.Errorf("peer.tsv has %d cases of %d", len(want), len(peerCases))
	}
}

func runPeerCase(t *testing.T, f *gguf.File) []float32 {
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	s, err := session.OpenFile(f, dev, session.Limits{Seqs: 1, Context: 512, Rows: 64, Logits: 1, KVType: backend.KVF32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Step(session.Span{Tokens: peerTokens()})
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), out...)
}

// readPeer reads the numbers: a name, then logits or values at even distances.
func readPeer(t *testing.T) map[string][]float64 {
	text, err := os.ReadFile("testdata/peer.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		for _, s := range fields[1:] {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			want[fields[0]] = append(want[fields[0]], v)
		}
	}
	return want
}
