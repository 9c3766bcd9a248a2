package access

import (
	"net/http/httptest"
	"testing"
)

// A key that was read from a file has a newline behind it; one of white space alone is none.
func TestWhiteSpaceAroundKeys(t *testing.T) {
	for _, c := range []struct {
		key, brought string
		want         Answer
	}{
		{"secret\n", "Bearer secret", Admitted},
		{" secret ", "Bearer  secret ", Admitted},
		{"secret\n", "Bearer secre", KeyWanted},
		{" ", "Bearer  ", NoKey},
		{"\n", "Bearer", NoKey},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", c.brought)
		if got := (Rule{Need: Everyone, Key: c.key}).Ask(r); got != c.want {
			t.Errorf("key %q, brought %q: %d, want %d", c.key, c.brought, got, c.want)
		}
	}
}
