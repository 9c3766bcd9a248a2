package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The oracle is a backtracking matcher of patterns as they are written down, slow and
// obvious. A refPattern tries its ways of matching at i, best first, and calls k with each
// end until k is content.
type refPattern func(s []rune, i int, k func(end int) bool) bool

func one(in func(rune) bool) refPattern {
	return func(s []rune, i int, k func(int) bool) bool {
		return i < len(s) && in(s[i]) && k(i+1)
	}
}

func seq(ps ...refPattern) refPattern {
	return func(s []rune, i int, k func(int) bool) bool {
		if len(ps) == 0 {
			return k(i)
		}
		return ps[0](s, i, func(j int) bool { return seq(ps[1:]...)(s, j, k) })
	}
}

func alt(ps ...refPattern) refPattern {
	return func(s []rune, i int, k func(int) bool) bool {
		return slices.ContainsFunc(ps, func(p refPattern) bool { return p(s, i, k) })
	}
}

// times is p{lo,hi}, greedy.
func times(p refPattern, lo, hi int) refPattern {
	return func(s []rune, i int, k func(int) bool) bool {
		if hi > 0 && p(s, i, func(j int) bool { return times(p, max(lo-1, 0), hi-1)(s, j, k) }) {
			return true
		}
		return lo == 0 && k(i)
	}
}

func plus(p refPattern) refPattern { return times(p, 1, 1<<30) }
func star(p refPattern) refPattern { return times(p, 0, 1<<30) }
func opt(p refPattern) refPattern  { return times(p, 0, 1) }

// noneAhead is (?!\S).
func noneAhead(s []rune, i int, k func(int) bool) bool {
	return (i == len(s) || unicode.IsSpace(s[i])) && k(i)
}

func atEnd(s []rune, i int, k func(int) bool) bool { return i == len(s) && k(i) }

func not(ins ...func(rune) bool) func(rune) bool {
	return func(r rune) bool {
		return !slices.ContainsFunc(ins, func(in func(rune) bool) bool { return in(r) })
	}
}

func oneOf(set string) func(rune) bool {
	return func(r rune) bool { return strings.ContainsRune(set, r) }
}

func either(ins ...func(rune) bool) func(rune) bool {
	none := not(ins...)
	return func(r rune) bool { return !none(r) }
}

func word(s string) refPattern {
	var ps []refPattern
	for _, r := range s {
		ps = append(ps, one(oneOf(string(r))))
	}
	return seq(ps...)
}

func contractions(fold folding) refPattern {
	var ps []refPattern
	for _, s := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		p := []refPattern{word("'")}
		for _, r := range s {
			set := string(r)
			if fold != asWritten {
				set += strings.ToUpper(set)
			}
			if fold == foldLetter && r == 's' {
				set += longS
			}
			p = append(p, one(oneOf(set)))
		}
		ps = append(ps, seq(p...))
	}
	return alt(ps...)
}

var (
	isL, isN, isS, isM, isP = unicode.IsLetter, unicode.IsNumber, unicode.IsSpace, unicode.IsMark, unicode.IsPunct
	isNL                    = oneOf("\r\n")
	spacesEnd               = alt(seq(plus(one(isS)), noneAhead), plus(one(isS)))
)

func gpt2Pattern() refPattern {
	sp := opt(word(" "))
	return alt(contractions(asWritten), seq(sp, plus(one(isL))), seq(sp, plus(one(isN))),
		seq(sp, plus(one(not(isS, isL, isN)))), spacesEnd)
}

func shapePattern(l func(rune) bool, digits int, fold folding) refPattern {
	return alt(contractions(fold),
		seq(opt(one(not(isNL, isL, isN))), plus(one(l))),
		times(one(isN), 1, digits),
		seq(opt(word(" ")), plus(one(not(isS, l, isL, isN))), star(one(isNL))),
		seq(star(one(isS)), plus(one(isNL))),
		spacesEnd)
}

// casedPattern has U and W as given.
func casedPattern(u, w func(rune) bool, digits int, tail refPattern) refPattern {
	lead := opt(one(not(isNL, isL, isN)))
	return alt(
		seq(lead, star(one(u)), plus(one(w)), opt(tail)),
		seq(lead, plus(one(u)), star(one(w)), opt(tail)),
		times(one(isN), 1, digits),
		seq(opt(word(" ")), plus(one(not(isS, isL, isN))), star(one(oneOf("\r\n/")))),
		seq(star(one(isS)), plus(one(isNL))),
		spacesEnd)
}

var (
	asciiSmall   = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 'a', Hi: 'z', Stride: 1}}, LatinOffset: 1}
	asciiCapital = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 'A', Hi: 'Z', Stride: 1}}, LatinOffset: 1}
)

func letters(not ...*unicode.RangeTable) func(rune) bool {
	return func(r rune) bool { return isL(r) && !unicode.In(r, not...) }
}

func deepseekSplit() refPattern {
	ascii := func(r rune) bool { return r < 128 && (isP(r) || unicode.IsSymbol(r)) }
	latin := func(r rune) bool { return r < 128 && isL(r) }
	return alt(
		seq(one(ascii), plus(one(latin))),
		seq(opt(one(not(isNL, isL, isP, unicode.IsSymbol))), plus(one(either(isL, isM)))),
		seq(opt(word(" ")), plus(one(either(isP, unicode.IsSymbol))), star(one(isNL))),
		seq(star(one(isS)), plus(one(isNL))),
		spacesEnd)
}

// cut applies a pattern to each piece, matches and gaps becoming pieces.
func cut(pieces [][]rune, p refPattern) (out [][]rune) {
	for _, s := range pieces {
		gap := 0
		for i := 0; i < len(s); {
			end := -1
			p(s, i, func(j int) bool { end = j; return true })
			if end <= i {
				i++
				continue
			}
			if gap < i {
				out = append(out, s[gap:i])
			}
			out = append(out, s[i:end])
			i, gap = end, end
		}
		if gap < len(s) {
			out = append(out, s[gap:])
		}
	}
	return out
}

func TestPreTokenizersAgainstPatterns(t *testing.T) {
	inRanges := func(ranges [][2]rune) func(rune) bool {
		return func(r rune) bool {
			return (r < 128 || !isS(r)) && slices.ContainsFunc(ranges, func(x [2]rune) bool { return x[0] <= r && r <= x[1] })
		}
	}
	lead := func(in func(rune) bool) refPattern { return seq(opt(one(isS)), plus(one(in))) }
	triples := times(one(oneOf("0123456789")), 3, 3)
	for name, patterns := range map[string][]refPattern{
		"gpt-2":          {gpt2Pattern()},
		"llama-bpe":      {shapePattern(isL, 3, foldASCII)},
		"dbrx":           {shapePattern(isL, 3, foldASCII)},
		"qwen2":          {shapePattern(isL, 1, foldASCII)},
		"qwen35":         {shapePattern(either(isL, isM), 1, foldASCII)},
		"starcoder":      {one(isN), gpt2Pattern()},
		"falcon":         {plus(one(either(isP, oneOf("$+<=>^~|`")))), gpt2Pattern(), triples},
		"default":        {plus(one(either(isP, oneOf("$+<=>^~|")))), gpt2Pattern(), plus(one(isN)), triples},
		"deepseek-coder": {one(isNL), lead(isL), lead(isP), plus(one(inRanges(ideographs))), one(isN)},
		"deepseek-llm": {one(isNL), lead(inRanges(casedLetters)), lead(inRanges(wideMarks)), seq(plus(one(isS)), atEnd),
			plus(one(inRanges(ideographs))), plus(one(isN))},
		"gpt-4o":      {casedPattern(either(letters(asciiSmall)), either(letters(asciiCapital)), 3, contractions(foldASCII))},
		"tekken":      {casedPattern(either(letters(asciiSmall)), either(letters(asciiCapital)), 1, word("\x01"))},
		"deepseek-v3": {times(one(isN), 1, 3), plus(one(inRanges(deepseekCJK))), deepseekSplit()},
	} {
		t.Run(name, func(t *testing.T) {
			row, err := preTokenizerNamed(name, byteLevelRows)
			if err != nil {
				t.Fatal(err)
			}
			againstPatterns(t, row, patterns)
		})
	}
}

// TestSplitPatternsAgainstPatterns holds the scanners of each regular expression that
// a tokenizer.json may have against that expression, put together by hand.
func TestSplitPatternsAgainstPatterns(t *testing.T) {
	u, w := either(letters(unicode.Ll), isM), either(letters(unicode.Lu, unicode.Lt), isM)
	for _, c := range []struct {
		begins string // of the expressions that it is for
		p      refPattern
	}{
		{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|`, shapePattern(isL, 3, foldLetter)},
		{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|`, shapePattern(isL, 1, foldLetter)},
		{`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|`, shapePattern(either(isL, isM), 1, foldLetter)},
		{`'s|'t|`, gpt2Pattern()},
		{`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:`, casedPattern(u, w, 3, contractions(foldLetter))},
		{`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|`, casedPattern(u, w, 1, word("\x01"))},
		{deepseekPattern, deepseekSplit()},
		{`\p{N}{1,3}`, times(one(isN), 1, 3)},
		{`\d`, one(unicode.IsDigit)},
		{`\s?\p{L}+`, seq(opt(one(isS)), plus(one(isL)))},
		{`\s+$`, seq(plus(one(isS)), atEnd)},
	} {
		n := 0
		for text, p := range splitPatterns {
			if strings.HasPrefix(text, c.begins) && !(c.begins == `\p{N}{1,3}` && text != c.begins) {
				n++
				againstPatterns(t, &preTokenizer{stages: byScan(p.stages...)}, []refPattern{c.p})
			}
		}
		if n != 1 {
			t.Errorf("%q begins %d patterns, must be 1", c.begins, n)
		}
	}
}

func againstPatterns(t *testing.T, row *preTokenizer, patterns []refPattern) {
	t.Helper()
	alphabet := []rune("  \n\r\t'sStTlLeErRvVmMdDaz09½٣.,!$`é日本　\u00a0\u0301\u0085\x00\u200b🙂ſ々Ⅷʰ_-/ǅÄª")
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 2500 {
		text := make([]rune, rng.IntN(14))
		for i := range text {
			text[i] = alphabet[rng.IntN(len(alphabet))]
		}
		var want []string
		pieces := [][]rune{text}
		for _, p := range patterns {
			pieces = cut(pieces, p)
		}
		for _, p := range pieces {
			want = append(want, string(p))
		}
		if got := split(row, string(text)); !slices.Equal(got, want) {
			t.Fatalf("round %d: %q:\n got %q\nwant %q", round, string(text), got, want)
		}
	}
}

func split(row *preTokenizer, text string) (words []string) {
	p := pieces{stages: ready(row.stages)}
	p.begin(text)
	for w := p.next(); w != ""; w = p.next() {
		words = append(words, w)
	}
	return words
}

// Every row has a name of its own and fits the stack of pieces.
func TestPreTokenizerTable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range slices.Concat(byteLevelRows, patternRows) {
		if len(row.names) == 0 || len(row.stages) == 0 || len(row.stages) > maxStages {
			t.Errorf("row %q: %d stages", row.names, len(row.stages))
		}
		for _, name := range row.names {
			if seen[name] || name == "" {
				t.Errorf("name %q twice or empty", name)
			}
			seen[name] = true
		}
	}
}

// Bytes that are not UTF-8 come out in the pieces as they went in.
func TestPreTokenizersKeepBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, row := range slices.Concat(byteLevelRows, patternRows) {
		for range 500 {
			b := make([]byte, rng.IntN(30))
			for i := range b {
				b[i] = byte(rng.Uint32())
				if rng.IntN(2) == 0 {
					b[i] = " a1.\n\xe6\x97\xf0"[rng.IntN(8)]
				}
			}
			if got := strings.Join(split(&row, string(b)), ""); got != string(b) {
				t.Fatalf("%q: %q became %q", row.names[0], b, got)
			}
		}
	}
}
