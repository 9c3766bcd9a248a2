package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
)

// What ptx/sample.cu is made for; TestSimulate fails where that changes.
const (
	pickThreads = 256
	pickSlice   = 2048 // tokens of a block
	sliceWords  = 4
	stepWords   = 28 // of Step's head in ptx/paddock.cuh
	stepLogits  = 2  // where it has the rows that want logits
	stepTemps   = 24 // and the address of their temperatures
)

// pickSizes are vocabularies: fewer than are picked, about one slice, more slices than
// a block joins at once, and on a card the largest of today.
func (k *checker) pickSizes() []int {
	if k.c.simulate {
		return []int{10, 2049, 34*pickSlice + 7}
	}
	return []int{10, 64, 65, 300, pickSlice, pickSlice + 1, 34*pickSlice + 7, 128256, 151936, 262144}
}

// picks holds the picking kernels against a sort of the whole row.
func (k *checker) picks() error {
	return k.bare(func(b *bare) error {
		text, err := fs.ReadFile(k.serving, "sample.ptx")
		if err != nil {
			return err
		}
		if err := b.load("sample.ptx", text); err != nil {
			return err
		}
		for _, vocab := range k.pickSizes() {
			rows := pickRows(vocab)
			got, err := b.pick(vocab, rows)
			if err != nil {
				return fmt.Errorf("%d tokens: %w", vocab, err)
			}
			complaint := ""
			for i, r := range rows {
				if c := r.compare(&got[i]); c != "" {
					complaint = r.name + ": " + c
					break
				}
			}
			k.judge(fmt.Sprintf("picks of %d tokens", vocab), complaint, fmt.Sprintf("%d rows have the order of a sort, and the rest's weight", len(rows)))
		}
		return nil
	})
}

// pickRow is a row of logits that is picked from.
type pickRow struct {
	name        string
	temperature float32
	logits      []float32
}

// pickRows are rows that differ in what is hard of them.
func pickRows(vocab int) []pickRow {
	rng := rand.New(rand.NewPCG(uint64(vocab), 3))
	inf := float32(math.Inf(1))
	rows := []pickRow{{"a plain row", 0.7, nil}, {"a row with ties", 1, nil}, {"a row with few candidates", 2, nil}, {"a row without any", 1, nil},
		{"a row with an infinity", 0, nil}, {"a row with two NaN", 1, nil}}
	for i := range rows {
		rows[i].logits = make([]float32, vocab)
		for j := range rows[i].logits {
			x := float32(3 * rng.NormFloat64())
			switch {
			case i == 1: // zeros of both signs among them
				x = float32(math.Round(float64(x)))
			case i == 2 && j%(vocab/7+1) != 1, i == 3:
				x = -inf
			}
			rows[i].logits[j] = x
		}
	}
	rows[4].logits[vocab/2] = inf
	rows[5].logits[vocab-1], rows[5].logits[vocab/3] = float32(math.NaN()), float32(math.NaN())
	return rows
}

// pick has the kernels pick from rows.
func (b *bare) pick(vocab int, rows []pickRow) ([]backend.Pick, error) {
	var logits, temps []uint32
	for _, r := range rows {
		temps = append(temps, math.Float32bits(r.temperature))
		for _, x := range r.logits {
			logits = append(logits, math.Float32bits(x))
		}
	}
	tempsAt, err := b.send(temps)
	if err != nil {
		return nil, err
	}
	logitsAt, err := b.send(logits)
	if err != nil {
		return nil, err
	}
	head := make([]uint32, stepWords)
	head[stepLogits], head[stepTemps], head[stepTemps+1] = uint32(len(rows)), uint32(tempsAt), uint32(uint64(tempsAt)>>32)
	step, err := b.send(head)
	if err != nil {
		return nil, err
	}
	count := (vocab + pickSlice - 1) / pickSlice
	best, err := b.alloc(int64(8 * backend.PickTokens * count * len(rows)))
	if err != nil {
		return nil, err
	}
	each, err := b.alloc(int64(4 * sliceWords * count * len(rows)))
	if err != nil {
		return nil, err
	}
	const words = int(unsafe.Sizeof(backend.Pick{}) / 4)
	to, err := b.alloc(int64(4 * words * len(rows)))
	if err != nil {
		return nil, err
	}
	if err := b.launchGrid("sample", "pick_slices", [3]uint32{uint32(count), uint32(len(rows)), 1}, pickThreads, step, logitsAt, best, each, int32(vocab)); err != nil {
		return nil, err
	}
	if err := b.launch("sample", "pick_rows", len(rows), pickThreads, step, to, best, each, int32(count)); err != nil {
		return nil, err
	}
	out, err := b.fetch(to, words*len(rows))
	if err != nil {
		return nil, err
	}
	got := make([]backend.Pick, len(rows))
	copy(unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(got))), len(out)), out)
	return got, nil
}

// compare holds a pick against the definition, and says what is wrong with it.
func (r *pickRow) compare(got *backend.Pick) string {
	nan := slices.IndexFunc(r.logits, func(x float32) bool { return x != x })
	if int(got.NaN) != nan {
		return fmt.Sprintf("the first NaN is token %d, not %d", nan, got.NaN)
	}
	if nan >= 0 {
		return ""
	}
	var order []int
	for id, x := range r.logits {
		if !math.IsInf(float64(x), -1) {
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.logits[b], r.logits[a]) })
	best := order[:min(len(order), backend.PickTokens)]
	if int(got.Count) != len(best) {
		return fmt.Sprintf("there are %d candidates, not %d", len(best), got.Count)
	}
	for i, id := range best {
		if int(got.Tokens[i]) != id || got.Logits[i] != r.logits[id] {
			return fmt.Sprintf("candidate %d is token %d of %v, not %d of %v", i, id, r.logits[id], got.Tokens[i], got.Logits[i])
		}
	}
	if r.temperature == 0 || len(best) == 0 {
		return ""
	}
	rest := 0.0
	for _, id := range order[len(best):] {
		rest += math.Exp(float64(r.logits[id]-r.logits[best[0]]) / float64(r.temperature))
	}
	if !(math.Abs(float64(got.Rest)-rest) <= backend.PickError*rest) {
		return fmt.Sprintf("the rest weighs %v, not %v", rest, got.Rest)
	}
	return ""
}
