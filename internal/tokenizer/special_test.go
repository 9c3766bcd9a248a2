package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// specialsNaively is the rule itself, a pass per token: the longest token first takes
// its occurrences from the left, then the next in what is left.
func specialsNaively(text string, toks []string, allowed func(i int) bool) []match {
	order := make([]int, len(toks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(toks[b]) - len(toks[a]) })
	type piece struct {
		from, to int
		tok      int // -1: text
	}
	pieces := []piece{{0, len(text), -1}}
	for start := 0; start < len(order); {
		// Tokens of one length go together, by position.
		end := start
		for end < len(order) && len(toks[order[end]]) == len(toks[order[start]]) {
			end++
		}
		var next []piece
		for _, p := range pieces {
			if p.tok >= 0 {
				next = append(next, p)
				continue
			}
			from := p.from
			for i := p.from; i < p.to; {
				hit := slices.IndexFunc(order[start:end], func(k int) bool {
					return allowed(k) && strings.HasPrefix(text[i:p.to], toks[k])
				})
				if hit < 0 {
					i++
					continue
				}
				k := order[start+hit]
				next = append(next, piece{from, i, -1}, piece{i, i + len(toks[k]), k})
				i += len(toks[k])
				from = i
			}
			next = append(next, piece{from, p.to, -1})
		}
		pieces = next
		start = end
	}
	var out []match
	for _, p := range pieces {
		if p.tok >= 0 {
			out = append(out, match{p.from, int32(p.tok)})
		}
	}
	return out
}

func TestSpecialsAgainstRule(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	for round := range 4000 {
		alphabet := "ab<>"[:1+rng.IntN(4)]
		var sp specials
		var toks []string
		var plain []bool
		for range 1 + rng.IntN(6) {
			s := random(alphabet, 1+rng.IntN(5))
			if slices.Contains(toks, s) {
				continue
			}
			toks, plain = append(toks, s), append(plain, rng.IntN(2) == 0)
			sp.add(s, specialToken{id: int32(len(toks)), plain: plain[len(plain)-1]})
		}
		sp.build()
		text := random(alphabet, rng.IntN(40))
		parse := rng.IntN(2) == 0
		got := sp.find(nil, text, parse)
		want := specialsNaively(text, toks, func(i int) bool { return parse || plain[i] })
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: %q with %q, plain %v, parse %v:\n got %v\nwant %v", round, text, toks, plain, parse, got, want)
		}
	}
}

// A control token is reached by parsing alone; a user-defined one always.
func TestParseSpecial(t *testing.T) {
	for name, tok := range smallTokenizers(t) {
		id := func(s string) int32 {
			id, ok := tok.ID(s)
			if !ok {
				t.Fatalf("%s lacks %q", name, s)
			}
			return id
		}
		const text = "<|ab|><tool>"
		if got := tok.Encode(text, false, true); !slices.Equal(got, []int32{id("<|ab|>"), id("<tool>")}) {
			t.Errorf("%s: parsed %v", name, got)
		}
		got := tok.Encode(text, false, false)
		if slices.Contains(got, id("<|ab|>")) || got[len(got)-1] != id("<tool>") {
			t.Errorf("%s: plain %v", name, got)
		}
	}
}

// The model's name alone makes special tokens swallow the space that follows them.
func TestPhi3SwallowsSpace(t *testing.T) {
	v := smallSPM([]string{"▁", "a", "▁a"}, []string{"<|user|>"}, nil)
	v.Name = "Phi-3 mini"
	tok := mustNew(t, v)
	id, _ := tok.ID("<|user|>")
	a, _ := tok.ID("▁a")
	if got := tok.Encode("<|user|> \n a<s> a", false, true); !slices.Equal(got[:2], []int32{id, a}) {
		t.Errorf("got %v, want to begin with %d %d", got, id, a)
	}
	if got := tok.Encode("<|user|> \n <|user|>\t", false, true); !slices.Equal(got, []int32{id, id}) {
		t.Errorf("got %v, want %d twice", got, id)
	}
}

// TestSpecialsThatBeginOneAnother: of thousands of tokens that don't count, each the
// beginning of the next, every one knows the one that does: none is walked to per byte.
func TestSpecialsThatBeginOneAnother(t *testing.T) {
	var sp specials
	for n := 1; n <= 3000; n++ {
		sp.add(strings.Repeat("a", n), specialToken{id: int32(n), plain: n == 2})
	}
	sp.build()
	const size = 1 << 20
	for i, tok := range sp.toks {
		if k := tok.asPlain; tok.size >= 2 && (k < 0 || sp.toks[k].id != 2) || tok.size == 1 && k >= 0 {
			t.Fatalf("token %d of %d letters leads to %d", i, tok.size, k)
		}
	}
	if got := sp.find(nil, strings.Repeat("a", size), false); len(got) != size/2 || sp.toks[got[0].tok].id != 2 {
		t.Errorf("%d matches, the first of %v", len(got), got[0])
	}
}
