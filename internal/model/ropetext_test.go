package model

import (
	"path/filepath"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/golden"
)

// TestRopeChoice asks that a model says which rotary factors were taken and why.
func TestRopeChoice(t *testing.T) {
	for _, c := range []struct {
		name    string
		context int
		want    string
	}{
		{"phi3_longrope_long", 512, "long factors"}, {"phi3_longrope_short", 512, "short factors"}, {"phi3_longrope_short", 0, "long factors"}, {"phi3_longrope_long", 8, "short factors"},
		{"llama_yarn", 0, "yarn ×4 from 64"}, {"llama_linear", 0, "linear ×4"}, {"llama3_rope", 0, "factors of each pair"}, {"llama", 0, ""}, {"gpt2", 0, ""},
	} {
		f, err := gguf.Open(filepath.Join(golden.Dir(t), "models", c.name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Lower(f, Options{Context: c.context})
		if err != nil {
			t.Fatal(err)
		}
		if m.Spec.Rope != c.want || (c.want == "") != (m.Spec.RopeWhy == "") {
			t.Errorf("%s for %d: %q, %q; want %q", c.name, c.context, m.Spec.Rope, m.Spec.RopeWhy, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
