package engine

import (
	"testing"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

func TestTextHoldsTornCharacters(t *testing.T) {
	x := &textState{}
	var got []string
	for i, b := range []string{"a\xe2", "\x82", "\xac b", "\xf0\x9f", "\x98", "z", "\xc3"} {
		got = append(got, x.push([]byte(b), i == 6))
	}
	want := []string{"a", "", "€ b", "", "", "\uFFFDz", "\uFFFD"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("push %d: %q, want %q", i, got[i], want[i])
		}
	}
}

// TestTextOfControlTokens: a control token that is shown comes where it stood, also
// while text before it is held back, tears no character, is not seen by stop
// strings, and goes with the text behind one.
func TestTextOfControlTokens(t *testing.T) {
	for _, c := range []struct {
		stop, want string
		pushes     []string // an upper-case word is a control token
	}{
		{"", "a<X>b<Y>", []string{"a", "X", "b", "Y"}},
		{"", "<X><Y>", []string{"X", "Y"}},
		{"", "\uFFFD<X>\uFFFD", []string{"\xe2\x82", "X", "\xac"}},
		{"stop", "as<X>t<Y>ay", []string{"as", "X", "t", "Y", "ay"}},
		{"stop", "as<X>to", []string{"as", "X", "to"}},
		{"stop", "a<X>", []string{"a", "X", "st", "Y", "op"}},
		{"stop", "a", []string{"ast", "X", "op"}},
	} {
		x, text := &textState{}, ""
		if c.stop != "" {
			var err error
			if x.match, err = tokenizer.NewStopMatcher([]string{c.stop}); err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range c.pushes {
			b := []byte(p)
			if p == "X" || p == "Y" {
				x.show("<" + p + ">")
				b = nil
			}
			text += x.push(b, i == len(c.pushes)-1)
		}
		if text != c.want {
			t.Errorf("%q with stop %q: %q, want %q", c.pushes, c.stop, text, c.want)
		}
	}
}
