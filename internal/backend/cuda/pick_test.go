package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// picked is backend.Pick of a row, by the definition.
func picked(logits []float32, temperature float32) (p backend.Pick, rest float64) {
	order := make([]int, len(logits))
	p.NaN = -1
	for i, x := range logits {
		if order[i] = i; x != x && p.NaN < 0 {
			p.NaN = int32(i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return logits[order[i]] > logits[order[j]] })
	for i, id := range order {
		x := logits[id]
		switch {
		case math.IsInf(float64(x), -1):
		case i < backend.PickTokens:
			p.Logits[i], p.Tokens[i], p.Count = x, int32(id), p.Count+1
		case temperature > 0:
			rest += math.Exp(float64(x-p.Logits[0]) / float64(temperature))
		}
	}
	return p, rest
}

// TestPick holds picks over vocabularies around the bounds of slices, with ties,
// infinities and NaN.
func TestPick(t *testing.T) {
	inf := float32(math.Inf(1))
	sizes := []int{10, 64, 65, 300, 2048, 2049, 5000}
	if !testing.Short() {
		sizes = append(sizes, 34*2048+7)
	}
	for _, vocab := range sizes {
		t.Run(fmt.Sprint(vocab), func(t *testing.T) {
			p := &prog.Program{Vocab: vocab, Embd: 8, Context: 64}
			temps := []float32{0.7, 1, 0, 2, 1, 1, 1}
			l := backend.Limits{Rows: 20, Seqs: 1, LogitRows: 10, Pages: 2, PageSize: 16, Context: 20}
			rng := rand.New(rand.NewPCG(uint64(vocab), 1))
			b := batchOf(rng, l, stretch{20, 20})
			b.Logits = b.Logits[:len(temps)]
			s := newStand(t, uint64(vocab), p, l, b)
			w := stepWriter{memory: make([]byte, stepBytes(l)), at: s.rig.step}
			w.write(b, l.PageSize)
			s.must(s.machine.Write(uint64(s.rig.step), w.temperatures(temps)))
			logits := s.normal(vocab*len(temps), 3)
			row := func(i int) []float32 { return logits[i*vocab : (i+1)*vocab] }
			for i := range row(1) { // ties, zeros of both signs among them
				row(1)[i] = float32(math.Round(float64(row(1)[i])))
			}
			for i := range row(3) { // few candidates
				if i%(vocab/7+1) != 1 {
					row(3)[i] = -inf
				}
				row(4)[i] = -inf
			}
			row(5)[vocab/2] = inf
			row(6)[vocab-1], row(6)[vocab/3] = float32(math.NaN()), float32(math.NaN())
			s.write(s.rig.logits, logits)
			k := bucketOf(b, l)
			k.pick = true
			s.runIn(k)
			got := make([]backend.Pick, len(temps))
			s.must(s.machine.Read(uint64(s.rig.picks), bytesOf(got)))
			for i := range got {
				want, rest := picked(row(i), temps[i])
				g := got[i]
				if g.NaN != want.NaN {
					t.Fatalf("row %d: the first NaN is %d, want %d", i, g.NaN, want.NaN)
				}
				if want.NaN >= 0 {
					continue
				}
				if g.Count != want.Count {
					t.Fatalf("row %d: %d candidates, want %d", i, g.Count, want.Count)
				}
				for c := range want.Count {
					if g.Tokens[c] != want.Tokens[c] || g.Logits[c] != want.Logits[c] {
						t.Fatalf("row %d: candidate %d is %d of %v, want %d of %v", i, c, g.Tokens[c], g.Logits[c], want.Tokens[c], want.Logits[c])
					}
				}
				if temps[i] > 0 && want.Count > 0 && !math.IsInf(float64(want.Logits[0]), 1) && !(math.Abs(float64(g.Rest)-rest) <= backend.PickError/10*rest) {
					t.Fatalf("row %d: the rest weighs %v, want %v", i, g.Rest, rest)
				}
			}
		})
	}
}
