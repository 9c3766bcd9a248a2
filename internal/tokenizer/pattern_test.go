package tokenizer

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
)

// TestPatternAgainstRegexp holds matches against those of the standard library, for
// patterns that both know.
func TestPatternAgainstRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, src := range []string{
		`a`, `a|ab|abc`, `(a|ab)(c|bcd)?`, `a*b`, `a+?b?`, `[a-c]{1,3}`, `(?:ab?){2,}`, `[^a\n]+`, `(?i:ab)+c`, `\d+|\pL+|\s+`, `(a+)+b`,
		`a{2}|b{2,3}?c`, `.+?c`, `\x{e9}|é`, `x*`, `(?:a|b)*?c`, `[\p{Lu}\p{Nd}]+`, `\Aab|c\z`, `(?i)A|bC`,
	} {
		p, err := compilePattern("Split", strings.ReplaceAll(src, `\pL`, `\p{L}`))
		if err != nil {
			t.Fatal(err)
		}
		std := regexp.MustCompile(src)
		var work patternScratch
		for range 300 {
			var b strings.Builder
			for range rng.IntN(20) {
				b.WriteString([]string{"a", "b", "c", "A", "B", "é", " ", "\n", "1", "日", "x"}[rng.IntN(11)])
			}
			text := b.String()
			var want []span
			for _, m := range std.FindAllStringIndex(text, -1) {
				want = append(want, span{m[0], m[1]})
			}
			if got := p.find(text, &work); !slices.Equal(got, want) {
				t.Fatalf("%s in %q: got %v, want %v", src, text, got, want)
			}
		}
	}
}

// TestPatternLooks: what the standard library lacks.
func TestPatternLooks(t *testing.T) {
	for _, c := range []struct{ src, text, want string }{
		{`\s+(?!\S)|\s+`, "a   b  ", "a|  | |b|  "},
		{`(?<=[a-z])(?=[A-Z])`, "fooBarBAZ", "foo|Bar|BAZ"},
		{`\d{1,3}(?=(?:\d{3})*\b)`, "1234567 12", "1|234|567| |12"},
		{`[^\r\n\p{L}\p{N}]?+\p{L}+| ?[^\s\p{L}\p{N}]++`, " ab!!c", " ab|!!|c"},
		{`a*+a`, "aaa", "aaa"},
		{`[\p{L}&&[^a-c]]+`, "xaybz", "x|a|y|b|z"},
		{`^b|c$`, "b\nbc\nc", "b|\n|b|c|\n|c"},
		{`(?!a)\w`, "ab", "a|b"},
	} {
		stages, err := splitStep(Step{Pattern: c.src, Regex: true, Behavior: "Isolated"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(split(&preTokenizer{stages: stages}, c.text), "|"); got != c.want {
			t.Errorf("%s in %q: got %q, want %q", c.src, c.text, got, c.want)
		}
	}
}

// TestBehaviors: what becomes of matches and of what lies between.
func TestBehaviors(t *testing.T) {
	for _, c := range []struct {
		behavior, want string
		invert         bool
	}{
		{"Removed", "the|final|countdown", false}, {"Removed", "-|-|-", true},
		{"Isolated", "the|-|final|-|-|countdown", false}, {"Contiguous", "the|-|final|--|countdown", false},
		{"MergedWithPrevious", "the-|final-|-|countdown", false}, {"MergedWithNext", "the|-final|-|-countdown", false},
	} {
		stages, err := splitStep(Step{Pattern: "-", Behavior: c.behavior, Invert: c.invert})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(split(&preTokenizer{stages: stages}, "the-final--countdown"), "|"); got != c.want {
			t.Errorf("%s (invert %v): got %q, want %q", c.behavior, c.invert, got, c.want)
		}
	}
}

// TestPatternRefuses names what a pattern has that can't be served in linear time.
func TestPatternRefuses(t *testing.T) {
	for src, says := range map[string]string{
		`(a)\1`: `\1`, `(?>a+)b`: "(?>", `(a*)*`: "may be empty", `(?<=ab)c`: "look behind", `a{1000}`: "{1000} times", `a{99999999999999999999}`: "times", `a{2,1}`: "times", `[b-a]`: "before it begins",
		`\p{Nonsense}`: "Nonsense", `(a`: "without an end", `a)`: "closes nothing", `*`: "of nothing", `(?i)ss`: "fold", `(?:ab)++`: "possessive",
		`(?:a{100}){100}`: "512 steps", strings.Repeat("(", 99): "levels", `\R`: `\R`, `[[:graph:]]`: "graph", `[[:]`: "without an end",
	} {
		if _, err := compilePattern("Split", src); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: got %v, want what says %q", src, err, says)
		}
	}
}

// TestPatternMemory: twice the text, about twice the bytes kept, for patterns that ruin
// a matcher that tries again.
func TestPatternMemory(t *testing.T) {
	for _, src := range []string{`(a+)+b`, `(?:a|a)+c|a`, `a*?b|a`, `(?=a+b)a|a`} {
		p, err := compilePattern("Split", src)
		if err != nil {
			t.Fatal(err)
		}
		var small, large patternScratch
		p.find(strings.Repeat("a", 1<<12), &small)
		p.find(strings.Repeat("a", 1<<13), &large)
		if s, l := len(small.can), len(large.can); l > 2*s {
			t.Errorf("%s: %d words for twice the text of %d", src, l, s)
		}
	}
}

// FuzzPattern: any pattern compiles or is refused, and matches lie in order in the text.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{`a|b*`, `(?i:[^a-z&&\p{L}])+?`, `\s+(?!\S)`, `[[:alpha:]]{2,3}`, `(?<!x)\b`, `(?`, `[]a]`, `\`} {
		f.Add(s, "abc \n日A")
	}
	f.Fuzz(func(t *testing.T, src, text string) {
		// A bit for each step of a program and each character, of at most 512 steps.
		may := bounded.Bytes{Base: 2 << 20, Each: 512}
		bounded.Hold(t, may, len(src)+len(text), func() {
			p, err := compilePattern("Split", src)
			if err != nil {
				return
			}
			at := 0
			for _, m := range p.find(text, new(patternScratch)) {
				if m.beg < at || m.end < m.beg || m.end > len(text) {
					t.Fatalf("%q in %q: %v after %d", src, text, m, at)
				}
				at = m.end
			}
		})
	})
}
