// Package scripted makes small model files that answer any prompt with a text
// fixed beforehand, token by token, so that tests can hold what an API makes of an
// answer against what the model wrote. Only tests use it.
package scripted

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// Model is what the file is made of. The zero value ends at once.
type Model struct {
	Template string
	Answer   []string // tokens, no two of them alike, the last of a prompt none of them
	Control  []string // which of them are control tokens
	BOS      string   // "": <s>
	EOS      string   // "": </s>
	UNK      string   // "": <unk>
	PAD      string   // "": none
	Context  uint32   // 0: 8192
}

// The widths of the model.
const (
	embed = 128
	ffn   = 32
	head  = 32
)

// File returns the model as a GGUF file: a Llama of one layer that adds nothing, so
// that a token's logits depend on that token alone. Each token of the answer is
// likeliest after the one before it, and the first one after any other token.
func (m Model) File() ([]byte, error) {
	or := func(s, fallback string) string {
		if s == "" {
			return fallback
		}
		return s
	}
	tokens := []string{or(m.UNK, "<unk>"), or(m.BOS, "<s>"), or(m.EOS, "</s>")}
	types := []int32{2, 3, 3}
	end := uint32(2)
	if tokens[1] == tokens[2] { // one token for both
		end, tokens[2] = 1, "</s>"
	}
	if m.PAD != "" {
		tokens, types = append(tokens, m.PAD), append(types, 3)
	}
	for i := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", i)), append(types, 6)
	}
	first := len(tokens)
	control := map[string]bool{}
	for _, c := range m.Control {
		control[c] = true
	}
	for _, a := range m.Answer {
		kind := int32(1)
		if control[a] {
			kind = 3
		}
		tokens, types = append(tokens, strings.ReplaceAll(a, " ", "▁")), append(types, kind)
	}
	n := len(tokens)
	in, out := make([]float32, n*embed), make([]float32, n*embed)
	rng := rand.New(rand.NewPCG(1, 2))
	next := func(i int) int {
		if i+1 < n {
			return i + 1
		}
		return int(end)
	}
	begin := int(end)
	if len(m.Answer) > 0 {
		begin = first
	}
	out[begin*embed] = 1
	for i := range n {
		in[i*embed] = 1
		for d := 1; d < embed && i >= first; d++ {
			v := float32(1 - 2*int(rng.Uint32()&1))
			in[i*embed+d], out[next(i)*embed+d] = v, v
		}
	}
	context := m.Context
	if context == 0 {
		context = 8192
	}
	kvs := []ggufwrite.KV{{Key: "general.architecture", Value: "llama"}, {Key: "general.name", Value: "scripted"}}
	for _, kv := range []struct {
		key   string
		value uint32
	}{
		{"context_length", context}, {"block_count", 1}, {"embedding_length", embed}, {"feed_forward_length", ffn},
		{"attention.head_count", embed / head}, {"attention.head_count_kv", 1}, {"rope.dimension_count", head}, {"vocab_size", uint32(n)},
	} {
		kvs = append(kvs, ggufwrite.KV{Key: "llama." + kv.key, Value: kv.value})
	}
	kvs = append(kvs,
		ggufwrite.KV{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)},
		ggufwrite.KV{Key: "tokenizer.ggml.model", Value: "llama"},
		ggufwrite.KV{Key: "tokenizer.ggml.tokens", Value: tokens},
		ggufwrite.KV{Key: "tokenizer.ggml.scores", Value: make([]float32, n)},
		ggufwrite.KV{Key: "tokenizer.ggml.token_type", Value: types},
		ggufwrite.KV{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		ggufwrite.KV{Key: "tokenizer.ggml.eos_token_id", Value: end},
		ggufwrite.KV{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
	)
	if m.PAD != "" {
		kvs = append(kvs, ggufwrite.KV{Key: "tokenizer.ggml.padding_token_id", Value: uint32(3)})
	}
	if m.Template != "" {
		kvs = append(kvs, ggufwrite.KV{Key: "tokenizer.chat_template", Value: m.Template})
	}
	ones := make([]float32, embed)
	for i := range ones {
		ones[i] = 1
	}
	var tensors []ggufwrite.Tensor
	add := func(name string, values []float32, dims ...uint64) {
		count := uint64(1)
		for _, d := range dims {
			count *= d
		}
		data := make([]byte, 4*count) // zeros, unless there are values
		for i, v := range values {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
		}
		tensors = append(tensors, ggufwrite.Tensor{Name: name, Dims: dims, Data: data})
	}
	add("token_embd.weight", in, embed, uint64(n))
	add("output_norm.weight", ones, embed)
	add("output.weight", out, embed, uint64(n))
	add("blk.0.attn_norm.weight", ones, embed)
	add("blk.0.ffn_norm.weight", ones, embed)
	add("blk.0.attn_q.weight", nil, embed, embed)
	add("blk.0.attn_k.weight", nil, embed, head)
	add("blk.0.attn_v.weight", nil, embed, head)
	add("blk.0.attn_output.weight", nil, embed, embed)
	add("blk.0.ffn_gate.weight", nil, embed, ffn)
	add("blk.0.ffn_up.weight", nil, embed, ffn)
	add("blk.0.ffn_down.weight", nil, ffn, embed)
	var b bytes.Buffer
	err := ggufwrite.Write(&b, kvs, tensors)
	return b.Bytes(), err
}
