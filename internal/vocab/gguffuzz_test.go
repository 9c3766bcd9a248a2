package vocab

import (
	"bytes"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// smallFile is a GGUF file of a vocabulary alone.
func smallFile(f testing.TB, model, pre string, more ...ggufwrite.KV) []byte {
	tokens := []string{"<unk>", "<s>", "</s>", "▁", "a", "b", "▁a", "ab", "##b", "Ġ", "Ġa", "<0x41>", "<tool>"}
	types := []int32{2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 4}
	scores := make([]float32, len(tokens))
	for i := range scores {
		scores[i] = -float32(i)
	}
	kvs := append([]ggufwrite.KV{
		{Key: "general.architecture", Value: "llama"},
		{Key: "tokenizer.ggml.model", Value: model}, {Key: "tokenizer.ggml.pre", Value: pre},
		{Key: "tokenizer.ggml.tokens", Value: tokens}, {Key: "tokenizer.ggml.token_type", Value: types}, {Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.merges", Value: []string{"a b", "Ġ a", "▁ a"}},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)}, {Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)}, {Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
		{Key: "tokenizer.chat_template", Value: "{{ messages }}"},
	}, more...)
	return written(f, kvs)
}

// written is a GGUF file of these keys.
func written(t testing.TB, kvs []ggufwrite.KV) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, kvs, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzFromGGUF: a file's vocabulary is refused or works, and takes any text.
func FuzzFromGGUF(f *testing.F) {
	for _, m := range [][2]string{{"llama", ""}, {"gpt2", "qwen2"}, {"gpt2", "gpt-2"}, {"bert", ""}, {"t5", ""}, {"gemma4", ""}} {
		f.Add(smallFile(f, m[0], m[1]), "a caf\u00e9s <s> <tool>\xe6 ab\n12")
	}
	f.Add(smallFile(f, "t5", "", ggufwrite.KV{Key: "tokenizer.ggml.precompiled_charsmap", Value: make([]int8, 64)}), "a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		bounded.Hold(t, bounded.Bytes{Base: 4 << 20, Each: 256}, len(data)+len(text), func() {
			v, err := FromGGUF(file)
			if err != nil {
				return
			}
			if _, err := Template(file); err != nil {
				return
			}
			tok, err := tokenizer.New(v)
			if err != nil {
				return
			}
			for _, parse := range []bool{false, true} {
				tok.Decode(tok.Encode(text, true, parse), parse)
			}
			tok.Decode([]int32{-1, 0, 1, 2, 3, 1 << 30}, false)
		})
	})
}
