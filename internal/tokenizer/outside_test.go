package tokenizer

import (
	"slices"
	"testing"
)

// TestOutside: what is added to a model is unknown to it, so text that it isn't cut out
// of, as part of a word here, is other tokens; and it is shown as it is looked for.
func TestOutside(t *testing.T) {
	v := smallRules()["gram"]
	id := int32(len(v.Tokens))
	v.Tokens, v.Types = append(v.Tokens, "AA"), append(v.Types, TypeUserDefined)
	v.Rules.Scores = append(v.Rules.Scores, 0)
	v.Rules.Normalize = []Step{{Type: "Lowercase"}}
	v.Rules.Added = append(v.Rules.Added, Added{ID: id, SingleWord: true, Normalized: true, Outside: true})
	tok := mustNew(t, v)
	for text, want := range map[string][]int32{"b AAb": {2, 6, 2, 4, 6}, "b AA": {2, 6, 2, id}} {
		if got := tok.Encode(text, false, false); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if got := tok.Decode([]int32{id}, false); got != "aa" {
		t.Errorf("decoded as %q", got)
	}
}
