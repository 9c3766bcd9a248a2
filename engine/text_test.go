package engine

import (
	"testing"
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
