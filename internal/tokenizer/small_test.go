package tokenizer

import (
	"fmt"
	"testing"
)

// smallBytes is a byte-level vocabulary: all bytes, merges that build the given words
// from the left, then control tokens and user-defined ones.
func smallBytes(pre string, words, control, defined []string) Vocab {
	v := Vocab{Model: "gpt2", Pre: pre, Specials: NoSpecials(), AddBOS: Off}
	have := map[string]bool{}
	add := func(text string, kind int32) {
		if !have[text] {
			have[text] = true
			v.Tokens = append(v.Tokens, text)
			v.Types = append(v.Types, kind)
		}
	}
	spell := spelling()
	for _, s := range spell {
		add(s, TypeNormal)
	}
	for _, w := range words {
		left := spell[w[0]]
		for i := 1; i < len(w); i++ {
			right := spell[w[i]]
			if !have[left+right] {
				v.Merges = append(v.Merges, left+" "+right)
			}
			left += right
			add(left, TypeNormal)
		}
	}
	for _, s := range control {
		add(s, TypeControl)
	}
	for _, s := range defined {
		add(s, TypeUserDefined)
	}
	return v
}

// smallSPM is a SentencePiece-style vocabulary with byte fallback; longer words score
// lower, as trained ones do.
func smallSPM(words, control, defined []string) Vocab {
	v := Vocab{Model: "llama", Specials: NoSpecials()}
	add := func(text string, kind int32, score float32) {
		v.Tokens = append(v.Tokens, text)
		v.Types = append(v.Types, kind)
		v.Scores = append(v.Scores, score)
	}
	add("<unk>", TypeUnknown, 0)
	add("<s>", TypeControl, 0)
	add("</s>", TypeControl, 0)
	for i := range 256 {
		add(fmt.Sprintf("<0x%02X>", i), TypeByte, 0)
	}
	have := map[string]bool{}
	for i, w := range words {
		for j := range w {
			if j > 0 && !have[w[:j]] {
				have[w[:j]] = true
				add(w[:j], TypeNormal, -float32(len(v.Tokens)))
			}
		}
		if !have[w] {
			have[w] = true
			add(w, TypeNormal, -float32(i+len(v.Tokens)))
		}
	}
	for _, s := range control {
		add(s, TypeControl, 0)
	}
	for _, s := range defined {
		add(s, TypeUserDefined, 0)
	}
	return v
}

func mustNew(t testing.TB, v Vocab) *Tokenizer {
	t.Helper()
	tok, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

var (
	smallWords   = []string{" the", "the", "abcabc", "bca", "aaaa", "  ", "    ", "\n\n", "don", "12", "日本", "é"}
	smallControl = []string{"<|a|>", "<|ab|>", "<|end|>", "x|>"}
	smallDefined = []string{"<tool>", "<tool><tool>", "tool>x", "    "}
)

func smallTokenizers(t testing.TB) map[string]*Tokenizer {
	spmWords := []string{"▁", "▁t", "▁the", "the", "a", "b", "c", "abcabc", "bca", "aaaa", "▁▁", "▁▁▁▁", "d", "o", "n", "日", "日本", "é", ".", "x"}
	return map[string]*Tokenizer{
		"gpt-2":     mustNew(t, smallBytes("gpt-2", smallWords, smallControl, smallDefined)),
		"llama-bpe": mustNew(t, smallBytes("llama-bpe", smallWords, smallControl, smallDefined)),
		"qwen2":     mustNew(t, smallBytes("qwen2", smallWords, smallControl, smallDefined)),
		"deepseek":  mustNew(t, smallBytes("deepseek-llm", smallWords, smallControl, smallDefined)),
		"falcon":    mustNew(t, smallBytes("falcon", smallWords, smallControl, smallDefined)),
		"spm":       mustNew(t, smallSPM(spmWords, smallControl, smallDefined)),
		"spm-joint": mustNew(t, smallSPM(append(spmWords, "a▁b"), smallControl, smallDefined)),
	}
}
