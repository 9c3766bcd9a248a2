package tokenizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// spmNaively is the definition: of all neighbours whose text together is a token, the
// pair of the best score merges, the leftmost of equal ones, until none is left.
func spmNaively(text string, ids map[string]int32, scores map[string]float32) (out []int32) {
	var parts []string
	for _, r := range strings.ReplaceAll(" "+text, " ", spaceMark) {
		parts = append(parts, string(r))
	}
	for {
		best, at := float32(math.Inf(-1)), -1
		for i := range len(parts) - 1 {
			if s, ok := scores[parts[i]+parts[i+1]]; ok && s > best {
				best, at = s, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	for _, p := range parts {
		if id, ok := ids[p]; ok {
			out = append(out, id)
			continue
		}
		for _, b := range []byte(p) {
			out = append(out, 3+int32(b))
		}
	}
	return out
}

func TestSPMAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	letters := []string{"a", "b", "é", spaceMark}
	split := 0
	for round := range 400 {
		v := smallSPM(nil, nil, nil)
		ids, scores := map[string]int32{}, map[string]float32{}
		inner := rng.IntN(2) == 0 // tokens may have spaces inside
		for range 1 + rng.IntN(25) {
			var s string
			for i := range 1 + rng.IntN(5) {
				s += letters[rng.IntN(len(letters)-min(i, 1)*rng.IntN(2))]
			}
			if !inner {
				body := strings.TrimLeft(s, spaceMark)
				s = s[:len(s)-len(body)] + strings.ReplaceAll(body, spaceMark, "a")
			}
			if _, dup := ids[s]; dup {
				continue
			}
			// Few scores, so that ties are common; both zeros among them.
			score := []float32{0, float32(math.Copysign(0, -1)), -1.5, -2, 3}[rng.IntN(5)]
			ids[s], scores[s] = int32(len(v.Tokens)), score
			v.Tokens = append(v.Tokens, s)
			v.Types = append(v.Types, TypeNormal)
			v.Scores = append(v.Scores, score)
		}
		tok := mustNew(t, v)
		if tok.model.(*spm).splitSpaces {
			split++
		}
		for range 10 {
			var text string
			for range 1 + rng.IntN(60) {
				text += []string{"a", "b", "é", " ", " ", "c"}[rng.IntN(6)]
			}
			if got, want := tok.Encode(text, false, false), spmNaively(text, ids, scores); !slices.Equal(got, want) {
				t.Fatalf("round %d: %q with %q, scores %v:\n got %v\nwant %v", round, text, v.Tokens[259:], v.Scores[259:], got, want)
			}
		}
	}
	if split == 0 || split == 400 {
		t.Errorf("%d of 400 vocabularies keep words apart: one kind is not tested", split)
	}
}

func TestScoreRank(t *testing.T) {
	scores := []float32{math.MaxFloat32, 2, 1, math.SmallestNonzeroFloat32, 0, -math.SmallestNonzeroFloat32, -1, -2, -math.MaxFloat32}
	for i, s := range scores {
		if i > 0 && scoreRank(s) <= scoreRank(scores[i-1]) {
			t.Errorf("score %g does not rank after %g", s, scores[i-1])
		}
		if scoreRank(s) == noRank {
			t.Errorf("score %g has no rank", s)
		}
	}
	if scoreRank(0) != scoreRank(float32(math.Copysign(0, -1))) {
		t.Error("the zeros rank apart")
	}
}
