package vocab

import (
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/tokenizer"
)

// TestBERTNormalizer: a file says whether letters become small and accents go; the
// second follows the first where only that one is there, and both are done where none is.
func TestBERTNormalizer(t *testing.T) {
	tokens := []string{"[UNK]", "[CLS]", "[SEP]", "\u2581Caf\u00e9", "\u2581caf\u00e9", "\u2581Cafe", "\u2581cafe", "\u2581e\u0301", "\u2581e"}
	const lower, accents = "tokenizer.ggml.normalizer.lowercase", "tokenizer.ggml.normalizer.strip_accents"
	for _, c := range []struct {
		say  map[string]bool
		want []int32
	}{
		{nil, []int32{6, 8}},
		{map[string]bool{lower: true}, []int32{6, 8}},
		{map[string]bool{lower: false}, []int32{3, 7}},
		{map[string]bool{accents: false}, []int32{4, 7}},
		{map[string]bool{lower: false, accents: true}, []int32{5, 8}},
		{map[string]bool{lower: true, accents: false}, []int32{4, 7}},
		// The reference puts [CLS] and [SEP] around a text whatever these say.
		{map[string]bool{"tokenizer.ggml.add_bos_token": false, "tokenizer.ggml.add_eos_token": true}, []int32{6, 8}},
	} {
		kvs := []ggufwrite.KV{
			{Key: "general.architecture", Value: "bert"}, {Key: "tokenizer.ggml.model", Value: "bert"}, {Key: "tokenizer.ggml.tokens", Value: tokens},
			{Key: "tokenizer.ggml.token_type", Value: []int32{2, 3, 3, 1, 1, 1, 1, 1, 1}}, {Key: "tokenizer.ggml.unknown_token_id", Value: uint32(0)},
			{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)}, {Key: "tokenizer.ggml.seperator_token_id", Value: uint32(2)},
		}
		for key, on := range c.say {
			kvs = append(kvs, ggufwrite.KV{Key: key, Value: on})
		}
		f, err := gguf.Parse(written(t, kvs))
		if err != nil {
			t.Fatal(err)
		}
		v, err := FromGGUF(f)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.New(v)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]int32{1}, append(c.want, 2)...)
		if got := tok.Encode("Caf\u00e9 e\u0301", true, false); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", c.say, got, want)
		}
	}
}
