package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// TestForms compares with x/text, which does the same while no run of marks is longer
// than 30.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	pool := []rune("ae\u0301\u0300\u0327\u0323\u0307\u0345\u0344éệÅ\u212b\u2126ﬁ①한각\u1100\u1161\u11a8\u09c7\u09be\u0958\u0f73\u0340\u0390\U0001d15eｶﾞカ\u3099\uFFFD ")
	for _, c := range []struct {
		form form
		want norm.Form
	}{
		{form{compose: true}, norm.NFC}, {form{}, norm.NFD}, {form{compat: true, compose: true}, norm.NFKC}, {form{compat: true}, norm.NFKD},
	} {
		check := func(text string) {
			t.Helper()
			if got, want := c.form.apply(text), c.want.String(text); got != want {
				t.Fatalf("%v of %+q: got %+q, want %+q", c.want, text, got, want)
			}
		}
		for range 3000 {
			var b strings.Builder
			for range rng.IntN(12) {
				if rng.IntN(8) == 0 {
					b.WriteRune(rune(rng.IntN(0x30000)))
				} else {
					b.WriteRune(pool[rng.IntN(len(pool))])
				}
			}
			check(b.String())
			// A byte that is no character stays, and is a border.
			text, tail := b.String(), string(pool[rng.IntN(len(pool))])
			if got, want := c.form.apply(text+"\xf3"+tail), c.form.apply(text)+"\xf3"+c.form.apply(tail); got != want {
				t.Fatalf("%v of %+q, F3, %+q: got %+q, want %+q", c.want, text, tail, got, want)
			}
		}
		step := rune(1)
		if testing.Short() {
			step = 7
		}
		for r := rune(0); r < 0x30000; r += step { // beyond, none has a form
			if utf8.ValidRune(r) {
				check(string(r))
			}
		}
	}
}

// TestLongMarks: a run of marks of any length is sorted and composed, and nothing is
// put into it.
func TestLongMarks(t *testing.T) {
	const acute, cedilla = "\u0301", "\u0327"
	got := form{compose: true}.apply("a" + strings.Repeat(acute, 100) + strings.Repeat(cedilla, 100))
	if want := "á" + strings.Repeat(cedilla, 100) + strings.Repeat(acute, 99); got != want {
		t.Errorf("got %+q", got)
	}
}
