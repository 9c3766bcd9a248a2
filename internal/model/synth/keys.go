package synth

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// keys is the metadata: sizes, and a tokenizer of the right size.
func (s shape) keys(m mix) []ggufwrite.KV {
	own := func(key string, value any) ggufwrite.KV { return ggufwrite.KV{Key: s.arch + "." + key, Value: value} }
	valueDim, turn := s.headDim, s.headDim
	if s.moe != nil && s.moe.rank > 0 {
		valueDim, turn = s.moe.rank, s.moe.turn
	}
	if s.dense != nil && s.dense.turn > 0 {
		turn = s.dense.turn
	}
	kvHeads := any(uint32(s.kvHeads))
	if s.dense != nil && s.dense.taps > 0 {
		each := make([]int32, s.layers)
		for l := range each {
			if s.dense.attends(l) {
				each[l] = int32(s.kvHeads)
			}
		}
		kvHeads = each
	}
	kvs := []ggufwrite.KV{
		{Key: "general.architecture", Value: s.arch},
		{Key: "general.name", Value: fmt.Sprintf("synthetic %s %s", s.name, m.name)},
		{Key: "general.file_type", Value: m.fileType},
		{Key: "general.quantization_version", Value: uint32(2)},
		own("context_length", uint32(s.context)),
		own("embedding_length", uint32(s.embd)),
		own("block_count", uint32(s.layers)),
		own("feed_forward_length", uint32(s.ffn)),
		own("attention.head_count", uint32(s.heads)),
		own("attention.head_count_kv", kvHeads),
		own("attention.key_length", uint32(s.headDim)),
		own("attention.value_length", uint32(valueDim)),
		own("attention.layer_norm_rms_epsilon", float32(1e-5)),
		own("rope.freq_base", s.base),
		own("rope.dimension_count", uint32(turn)),
		own("vocab_size", uint32(s.vocab)),
	}
	if s.moe != nil {
		kvs = append(kvs, s.moe.keys(own)...)
	}
	if s.dense != nil {
		kvs = append(kvs, s.dense.ownKeys(own)...)
	}
	return append(kvs, s.tokenizer()...)
}

// tokenizer is a byte-level vocabulary: the 256 bytes, pairs of small letters
// with their merges, and fillers, which no text becomes but which show as text, so
// that a client of a server sees every token. The last token ends a text.
func (s shape) tokenizer() []ggufwrite.KV {
	const normal, control = 1, 3
	tokens, types, merges := make([]string, 0, s.vocab), make([]int32, 0, s.vocab), []string{}
	add := func(text string, kind int32) {
		tokens, types = append(tokens, text), append(types, kind)
	}
	for b := range 256 {
		add(string(byteRune(byte(b))), normal)
	}
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z' && len(tokens) < s.vocab-1; b++ {
			add(string(a)+string(b), normal)
			merges = append(merges, string(a)+" "+string(b))
		}
	}
	for len(tokens) < s.vocab-1 {
		add(fmt.Sprintf("[%d]", len(tokens)), normal)
	}
	add("<|end|>", control)
	pre := "gpt-2"
	if strings.HasPrefix(s.arch, "qwen") {
		pre = "qwen2"
	}
	end := uint32(s.vocab - 1)
	return []ggufwrite.KV{
		{Key: "tokenizer.ggml.model", Value: "gpt2"},
		{Key: "tokenizer.ggml.pre", Value: pre},
		{Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.merges", Value: merges},
		{Key: "tokenizer.ggml.bos_token_id", Value: end},
		{Key: "tokenizer.ggml.eos_token_id", Value: end},
		{Key: "tokenizer.ggml.add_bos_token", Value: false},
	}
}

// byteRune is how byte-level vocabularies write a byte: printable ones of
// Latin-1 as they are, the others in order from U+0100.
func byteRune(b byte) rune {
	shown := func(r int) bool { return r >= '!' && r <= '~' || r >= 0xA1 && r <= 0xAC || r >= 0xAE && r <= 0xFF }
	if shown(int(b)) {
		return rune(b)
	}
	r := rune(0x100)
	for i := range int(b) {
		if !shown(i) {
			r++
		}
	}
	return r
}
