package tokenizer

import (
	"runtime"
	"strings"
	"testing"
)

// chain is a, aa, aaaa, …: what merges of hostile files are made of, up to n letters.
func chain(n int) (words []string) {
	for k := 1; k <= n; k *= 2 {
		words = append(words, strings.Repeat("a", k))
	}
	return words
}

// chains are vocabularies whose tokens, of one kind of model each, all begin each other.
func chains() map[string]Vocab {
	words := chain(512)
	bytes := smallBytes("gpt-2", nil, []string{"<", "<|", "<|<", "<|<|", "<|<|<", "<|<|<|>"}, []string{"<|<|<|<|"})
	for _, w := range words[1:] {
		bytes.Tokens, bytes.Types = append(bytes.Tokens, w), append(bytes.Types, TypeNormal)
		bytes.Merges = append(bytes.Merges, w[:len(w)/2]+" "+w[:len(w)/2])
	}
	// "<" is a byte as well: there it is no control token.
	for id, s := range bytes.Tokens {
		if s == "<" {
			bytes.Types[id] = TypeNormal
		}
	}
	uneven := smallBytes("gpt-2", []string{strings.Repeat("a", 128)}, nil, nil) // a token of each length
	rules := smallRules()
	chars, gram, piece := rules["chars"], rules["gram"], rules["words"]
	put := func(v *Vocab, text string) bool {
		for _, s := range v.Tokens {
			if s == text {
				return false
			}
		}
		v.Tokens, v.Types = append(v.Tokens, text), append(v.Types, TypeNormal)
		return true
	}
	for _, w := range words[1:] {
		put(&chars, w)
		chars.Pairs = append(chars.Pairs, [2]string{w[:len(w)/2], w[:len(w)/2]})
		if put(&gram, w) {
			gram.Rules.Scores = append(gram.Rules.Scores, -float64(len(w)))
		}
		put(&piece, w)
		put(&piece, "##"+w)
	}
	piece.Rules.Split = nil
	piece.Rules.MaxWordChars = 0
	suffix := smallRules()["bytes"]
	suffix.Rules.EndSuffix = "</w>"
	return map[string]Vocab{"bytes": bytes, "uneven": uneven, "chars": chars, "gram": gram, "pieces": piece, "suffix": suffix,
		"spm": smallSPM(append(words, spaceMark), []string{"<|", "<|<", "<|<|"}, []string{"<|<|<"})}
}

// TestLinearChains: twice the text, at most about twice the work and the bytes, where
// each token begins the next. Work is counted: candidates taken off a heap, neighbours
// and bytes looked at; each one on a heap costs its depth on top, a logarithm.
func TestLinearChains(t *testing.T) {
	texts := map[string]func(n int) string{
		"a b":     func(n int) string { return strings.Repeat("a", n-1) + "b" },
		"ab":      func(n int) string { return strings.Repeat("aaab", n/4) },
		"control": func(n int) string { return strings.Repeat("<|", n/2) },
		"open":    func(n int) string { return strings.Repeat("<|<|<", n/5) },
	}
	for shape, text := range hardTexts {
		texts[shape] = text
	}
	for name, v := range chains() {
		tok := mustNew(t, v)
		for shape, text := range texts {
			for _, parse := range []bool{false, true} {
				measure := func(n int) (steps int, bytes uint64) {
					text := text(n)
					var s scratch
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					tok.encode(nil, text, false, parse, &s)
					runtime.ReadMemStats(&after)
					return s.merger.steps, after.TotalAlloc - before.TotalAlloc
				}
				const n = 1 << 14
				few, small := measure(n)
				many, large := measure(2 * n)
				if many > 2*few+few/4+2000 {
					t.Errorf("%s, %s (parse %v): %d steps for %d bytes, %d for twice", name, shape, parse, few, n, many)
				}
				for range 4 { // what one call found in a pool, another had to make
					if large <= 3*small+1<<20 {
						break
					}
					_, again := measure(n)
					small = max(small, again)
					_, again = measure(2 * n)
					large = min(large, again)
				}
				if large > 3*small+1<<20 { // slices grow in leaps
					t.Errorf("%s, %s (parse %v): %d bytes allocated for %d, %d for twice", name, shape, parse, small, n, large)
				}
			}
		}
	}
}

// TestMemoryOfMebibyte: 1 MiB of hostile text takes a bounded multiple of it, in each
// kind of model.
func TestMemoryOfMebibyte(t *testing.T) {
	if testing.Short() {
		t.Skip("a few seconds")
	}
	const most = 512 // bytes for each of the text, in all and not at once
	for name, v := range chains() {
		tok := mustNew(t, v)
		for _, shape := range []string{"letters", "brackets"} {
			text := hardTexts[shape](1 << 20)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tok.Encode(text, true, true)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > most*uint64(len(text)) {
				t.Errorf("%s, %s: %d bytes allocated, %d for each of the text's", name, shape, got, got/uint64(len(text)))
			}
		}
	}
}
