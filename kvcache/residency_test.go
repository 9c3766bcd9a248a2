package kvcache

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A page's life with five hits: its frame is taken again at 100 s.
func TestResidencyOfOnePage(t *testing.T) {
	p, _ := New(1, 4)
	var told []Residency
	p.Sample(SampleAll, func(r Residency) { told = append(told, r) })
	tokens := []int32{1, 2, 3, 4}
	seed := Seed("", "")
	hash := p.HashPage(seed, tokens)

	p.Tick(10 * time.Second)
	var a Table
	a.Grow(p, 4)
	p.Publish(a.Pages()[0], Content{Parent: seed, Hash: hash, Tokens: tokens})
	for _, at := range []time.Duration{11, 13, 16, 20, 25} {
		p.Tick(at * time.Second)
		var b, fork Table
		b.Adopt(p, a.Pages())
		p.Tick(at*time.Second + time.Second/2)
		fork.Fork(p, &b) // no hit
		fork.Clear(p)
		b.Clear(p)
	}
	a.Clear(p)
	if len(told) != 0 {
		t.Fatalf("told %v of a page that is still there", told)
	}
	p.Tick(100 * time.Second)
	p.Tick(90 * time.Second) // a clock that goes back is not believed
	var c Table
	c.Grow(p, 1)
	want := Residency{Lifetime: 90 * time.Second, Idle: 75 * time.Second, NGaps: 3,
		Gaps: [3]time.Duration{3 * time.Second, 4 * time.Second, 5 * time.Second}} // of the hits at 13, 16, 20 and 25
	if !slices.Equal(told, []Residency{want}) {
		t.Fatalf("told %v, want %v", told, want)
	}

	told = nil
	c.Clear(p)
	p.Tick(101 * time.Second)
	c.Grow(p, 1) // never published: its frame is taken all the same
	if !slices.Equal(told, []Residency{{Lifetime: time.Second, Idle: time.Second}}) {
		t.Fatalf("told %v of a page without hits", told)
	}
}

func TestSampleRates(t *testing.T) {
	const taken = 100_000
	p, _ := New(1, 1)
	sampled := func(rate uint64) (n int, which []bool) {
		told := 0
		p.Sample(rate, func(Residency) { told++ })
		for range taken {
			before := told
			ids, _ := p.Acquire(nil, 1)
			p.Release(ids)
			which = append(which, told > before)
		}
		return told, which
	}
	for _, c := range []struct {
		rate        uint64
		least, most int
	}{
		{0, 0, 0}, {SampleAll, taken - 1, taken - 1}, // of the last page nothing is told
		{SampleAll / 100, 900, 1100}, {SampleAll / 2, 49_000, 51_000},
	} {
		n, first := sampled(c.rate)
		if n < c.least || n > c.most {
			t.Errorf("rate %d: %d pages of %d, want %d to %d", c.rate, n, taken, c.least, c.most)
		}
		if _, second := sampled(c.rate); !slices.Equal(first, second) {
			t.Errorf("rate %d: two runs of the same calls differ", c.rate)
		}
	}
	p.Sample(SampleAll, nil)
	if ids, ok := p.Acquire(nil, 1); !ok || len(ids) != 1 {
		t.Error("nobody to tell, and no page")
	}
	defer func() {
		if recover() == nil {
			t.Error("a rate above all is no panic")
		}
	}()
	p.Sample(SampleAll+1, func(Residency) {})
}

// TestSamplingChangesNothing runs the same commands with and without: page numbers, eviction order and counts agree, and every
// life that is told makes sense.
func TestSamplingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draws := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 40, 400).Draw(t, "draws")
		run := func(sample bool) (*machine, int) {
			rest, told := draws, 0
			m := newMachine(func(n int) int {
				if len(rest) == 0 {
					return 0
				}
				v := rest[0] % n
				rest = rest[1:]
				return v
			})
			if sample {
				m.pool.Sample(SampleAll, func(r Residency) {
					told++
					uses := r.Idle
					for _, g := range r.Gaps {
						uses += g
					}
					if r.Idle < 0 || r.Lifetime < uses || r.NGaps < 0 || r.NGaps > len(r.Gaps) {
						t.Fatalf("told %+v", r)
					}
				})
			}
			for i := time.Duration(0); len(rest) > 0; i++ {
				m.pool.Tick(i)
				if err := m.step(); err != nil {
					t.Fatal(err)
				}
			}
			return m, told
		}
		plain, _ := run(false)
		sampled, told := run(true)
		if plain.pool.Stats() != sampled.pool.Stats() {
			t.Fatalf("%+v without sampling, %+v with it", plain.pool.Stats(), sampled.pool.Stats())
		}
		if evicted := sampled.pool.Stats().Evicted; uint64(told) < evicted {
			t.Fatalf("%d lives told, %d cached pages evicted", told, evicted)
		}
		for i, u := range plain.users {
			if !slices.Equal(u.table.Pages(), sampled.users[i].table.Pages()) {
				t.Fatalf("tables %v without sampling, %v with it", u.table.Pages(), sampled.users[i].table.Pages())
			}
		}
	})
}

func TestSamplingAllocatesNothing(t *testing.T) {
	p, _ := New(8, 4)
	told := make([]Residency, 0, 16)
	p.Sample(SampleAll, func(r Residency) { told = append(told[:0], r) })
	ids := make([]PageID, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		ids, _ = p.Acquire(ids[:0], 8)
		p.Release(ids)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
