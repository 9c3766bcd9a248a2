package cpu

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// TestCut holds what attention is cut into.
func TestCut(t *testing.T) {
	l := backend.Limits{Rows: 512, Seqs: 16, Context: 8192}
	seq := func(pos ...int32) *prog.Batch { // a row of a sequence each
		b := &prog.Batch{Pos: pos}
		for i, p := range pos {
			b.SeqStart = append(b.SeqStart, int32(i))
			b.CtxLen = append(b.CtxLen, p+1)
		}
		b.SeqStart = append(b.SeqStart, int32(len(pos)))
		return b
	}
	for _, c := range []struct {
		what           string
		kvHeads, heads int
		window         int
		inKeys         bool
		workers        int
		batch          *prog.Batch
		spans, whole   int
		parts          int
	}{
		{"one worker", 3, 3, 0, false, 1, seq(4000), 0, 1, 1},
		{"few heads, deep", 3, 3, 0, false, 2, seq(4000), 8, 0, 1},
		{"few heads, two spans", 3, 3, 0, false, 2, seq(1000), 2, 0, 1},
		{"few heads, shallow: reading three times takes longer", 3, 3, 0, false, 2, seq(400), 0, 1, 1},
		{"one head of keys, shallow: its queries are parted", 1, 8, 0, false, 2, seq(400), 0, 1, 2},
		{"heads enough", 8, 2, 0, false, 2, seq(4000), 0, 1, 1},
		{"heads enough for two, not for eight", 8, 2, 0, false, 8, seq(4000), 8, 0, 1},
		{"many sequences", 2, 4, 0, false, 2, seq(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000), 0, 8, 1},
		{"a long one among short ones", 2, 4, 0, false, 2, seq(100, 100, 5000, 100), 10, 3, 1},
		{"a window", 1, 4, 512, false, 2, seq(4000), 2, 0, 1},
		{"latents", 1, 16, 0, true, 2, seq(4000), 8, 0, 1},
		{"latents, shallow", 1, 128, 0, true, 2, seq(400), 0, 1, 2},
	} {
		v := newVisit(visitPlan{kvHeads: c.kvHeads, heads: c.heads, rows: max(1, queriesAtOnce/c.heads), valueDim: 64, inKeys: c.inKeys, window: c.window}, l, c.workers)
		if n := testing.AllocsPerRun(1, func() { v.prepare(c.batch) }); n != 0 {
			t.Errorf("%s: %v allocations", c.what, n)
		}
		if len(v.spans) != c.spans || len(v.whole) != c.whole || v.parts != c.parts {
			t.Errorf("%s: %d spans and %d whole blocks in %d parts, want %d, %d, %d", c.what, len(v.spans), len(v.whole), v.parts, c.spans, c.whole, c.parts)
		}
		v.begin()
	}
}
