package draft

import (
	"slices"
	"testing"
)

func TestPropose(t *testing.T) {
	g := NGram{Max: 3, Min: 2, K: 4}
	for _, c := range []struct {
		name         string
		g            NGram
		tokens, want []int32
	}{
		{"empty", g, nil, nil},
		{"no repeat", g, []int32{1, 2, 3, 4}, nil},
		{"one token in common is too short", g, []int32{1, 2, 3, 9, 3}, nil},
		{"goes on as before", g, []int32{1, 2, 3, 4, 5, 6, 1, 2}, []int32{3, 4, 5, 6}},
		{"latest of equals", g, []int32{1, 2, 7, 1, 2, 8, 1, 2}, []int32{8, 1, 2, 8}},
		{"longest before latest", g, []int32{5, 1, 2, 7, 7, 1, 2, 8, 5, 1, 2}, []int32{7, 7, 1, 2}},
		{"a run overlaps itself", g, []int32{4, 4, 4, 4}, []int32{4, 4, 4, 4}},
		{"off", NGram{}, []int32{1, 2, 1, 2}, nil},
	} {
		if got := c.g.Propose(nil, c.tokens); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestProposeAllocatesNothing(t *testing.T) {
	g := NGram{Max: 3, Min: 1, K: 8}
	tokens := slices.Repeat([]int32{1, 2, 3, 4, 5}, 40)
	dst := make([]int32, 0, 8)
	if n := testing.AllocsPerRun(20, func() { dst = g.Propose(dst[:0], tokens) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if len(dst) == 0 {
		t.Error("a periodic sequence gave no proposal")
	}
}
