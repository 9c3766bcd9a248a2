package tokenizer

import (
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/golden"
)

// prose is text of about n bytes in the proportions of a prompt: words, numbers,
// code, a few other scripts.
func prose(n int) string {
	const s = "The scheduler admits a request when its pages fit, and it doesn't wait for slow readers: 128 tokens took 0.25 s.\n" +
		"    for i := range seqs {\n\t\tif seqs[i].done() { continue }\n    }\n\n" +
		"Größere Übergänge, naïve café; 日本語のテキストも、中文也可以。 Привет, мир! 🙂👍🏽\r\n"
	return strings.Repeat(s, n/len(s)+1)[:n]
}

func BenchmarkEncode(b *testing.B) {
	dir := golden.Dir(b)
	text := prose(1 << 20)
	for _, name := range []string{"llama-spm", "gpt-2", "llama-bpe", "qwen2"} {
		tok := goldenTokenizer(b, dir, name, "")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids = tok.AppendEncode(ids[:0], text, false, false)
			}
		})
		b.Run(name+"/one-word", func(b *testing.B) {
			word := strings.Repeat("abcdefgh", 1<<17)
			b.SetBytes(int64(len(word)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids = tok.AppendEncode(ids[:0], word, false, false)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := goldenTokenizer(b, golden.Dir(b), "qwen2", "")
	text := prose(1 << 16)
	ids := tok.Encode(text, false, false)
	d := tok.Detokenizer(true, true)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, id := range ids {
			d.Push(id)
		}
	}
}

func BenchmarkStopMatcher(b *testing.B) {
	m, err := NewStopMatcher([]string{"</answer>", "\n\nUser:", "<|im_end|>", "STOP"})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(prose(1 << 12))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for i := 0; i < len(text); i += 4 {
			m.Push(text[i : i+4])
		}
	}
}

func BenchmarkNew(b *testing.B) {
	dir := golden.Dir(b)
	for _, name := range []string{"llama-spm", "qwen2"} {
		v := readVocab(b, dir+"/vocab/ggml-vocab-"+name+".gguf.gz")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := New(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
