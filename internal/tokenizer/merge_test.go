package tokenizer

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// mergeNaively looks at all neighbours for the lowest rank, leftmost first, until none
// merges: the definition.
func mergeNaively(ids []int32, pairs map[uint64]ranked) []int32 {
	ids = slices.Clone(ids)
	for {
		best, at := ranked{rank: noRank}, -1
		for i := range len(ids) - 1 {
			if p, ok := pairs[uint64(uint32(ids[i]))<<32|uint64(uint32(ids[i+1]))]; ok && p.rank < best.rank {
				best, at = p, i
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = best.id
		ids = slices.Delete(ids, at+1, at+2)
	}
}

// Both ways of merging give what the definition gives, for merges in any order: also
// those of a made-up file, where a merge may rank below what it is made of.
func TestMergeAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 600 {
		pairs := map[uint64]ranked{}
		vocab := int32(2 + rng.IntN(3))
		letters := vocab
		for range 1 + rng.IntN(30) {
			key := uint64(rng.Int32N(vocab))<<32 | uint64(rng.Int32N(vocab))
			if _, dup := pairs[key]; !dup {
				pairs[key] = ranked{uint32(rng.IntN(12)), vocab}
				vocab++
			}
		}
		ids := make([]int32, rng.IntN(90))
		for i := range ids {
			ids[i] = rng.Int32N(letters)
		}
		want := mergeNaively(ids, pairs)
		for _, how := range []func(*merger, joiner){(*merger).merge, func(m *merger, j joiner) {
			if n := len(m.syms); n > 0 {
				m.syms[n-1].next = none
				m.queue(j)
			}
		}} {
			var m merger
			m.reset(len(ids))
			for _, id := range ids {
				m.add(id, 1)
			}
			how(&m, &byteLevel{pairs: pairs})
			got := []int32{}
			end := int32(0)
			for _, s := range m.syms {
				if s.beg != end {
					t.Fatalf("round %d: symbols don't tile the word: %+v", round, m.syms)
				}
				end = s.end
				got = append(got, s.id)
			}
			if int(end) != len(ids) || !slices.Equal(got, want) {
				t.Fatalf("round %d: %v: got %v, want %v", round, ids, got, want)
			}
		}
	}
}

// hardTexts are shapes of text that make naive tokenizers quadratic.
var hardTexts = map[string]func(n int) string{
	"letters":    func(n int) string { return strings.Repeat("a", n) },
	"words":      func(n int) string { return strings.Repeat("abcabc", n/6) },
	"spaces":     func(n int) string { return strings.Repeat(" ", n) },
	"newlines":   func(n int) string { return strings.Repeat("\n ", n/2) },
	"marks":      func(n int) string { return strings.Repeat("!'", n/2) },
	"digits":     func(n int) string { return strings.Repeat("7", n) },
	"half-token": func(n int) string { return strings.Repeat("<tool", n/5) },
	"tokens":     func(n int) string { return strings.Repeat("<tool>", n/6) },
	"invalid":    func(n int) string { return strings.Repeat("\xe6\x97", n/2) },
	"ideographs": func(n int) string { return strings.Repeat("日本", n/6) },
	"accents":    func(n int) string { return strings.Repeat("\u0301", n/2) },
	"two marks":  func(n int) string { return "a" + strings.Repeat("\u0301\u0323", n/4) },
	"brackets":   func(n int) string { return strings.Repeat("<|", n/2) },
	"prose":      prose,
}

// Work and memory grow with the text, not with its square: counted as merge steps and
// as bytes allocated, for texts of which one is sixteen times the other.
func TestLinear(t *testing.T) {
	toks := smallTokenizers(t)
	for name, v := range smallRules() {
		toks["rules-"+name] = mustNew(t, v)
	}
	for name, tok := range toks {
		big := 1 << 16
		if testing.Short() {
			big = 1 << 14
		} else if name == "qwen2" || name == "spm-joint" {
			big = 1 << 20
		}
		for shape, text := range hardTexts {
			measure := func(n int) (steps int, allocated uint64) {
				text := text(n)
				var s scratch
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				tok.encode(nil, text, false, false, &s)
				runtime.ReadMemStats(&after)
				return s.merger.steps, after.TotalAlloc - before.TotalAlloc
			}
			few, _ := measure(big / 16)
			many, allocated := measure(big)
			if many > 17*few+1000 {
				t.Errorf("%s, %s: %d steps for %d bytes, %d for %d", name, shape, few, big/16, many, big)
			}
			// A step is a look at a candidate, of which each merge leaves at most
			// two, or at a neighbour in a short word.
			if limit := smallWord * big; many > limit {
				t.Errorf("%s, %s: %d steps for %d bytes", name, shape, many, big)
			}
			limit := uint64(160 * big)
			if tok.rules != nil {
				limit *= 2 // text is normalised, a space to three bytes, before it is cut
			}
			if allocated > limit {
				t.Errorf("%s, %s: %d bytes allocated for %d", name, shape, allocated, big)
			}
		}
	}
}
