package cpu

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func workers(n int) []*worker {
	list := make([]*worker, n)
	for i := range list {
		list[i] = &worker{}
	}
	return list
}

// TestPool runs random phases many times: every item once, no item before the
// phase before it is done.
func TestPool(t *testing.T) {
	defer goleak.VerifyNone(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, 7} {
		counts := make([]int, 40) // of items in this step
		taken := make([][]atomic.Int32, len(counts))
		var open atomic.Int32 // the phase whose items may run
		var phases []phase
		for i := range counts {
			taken[i] = make([]atomic.Int32, 60)
			phases = append(phases, phase{
				items: func() int {
					for j := range taken[:i] { // all before it are done
						for k := range counts[j] {
							if taken[j][k].Load() != 1 {
								t.Errorf("phase %d opens, item %d of phase %d was taken %d times", i, k, j, taken[j][k].Load())
							}
						}
					}
					open.Store(int32(i))
					return counts[i]
				},
				grain: func() int { return i % 4 },
				run: func(_ *worker, item int) {
					if open.Load() != int32(i) {
						t.Errorf("item %d of phase %d runs in phase %d", item, i, open.Load())
					}
					taken[i][item].Add(1)
				},
			})
		}
		p := newPool(phases, workers(n))
		for range 50 {
			for i := range counts {
				counts[i] = []int{0, 1, 2, rng.IntN(60)}[rng.IntN(4)]
				for k := range taken[i] {
					taken[i][k].Store(0)
				}
			}
			if err := p.step(); err != nil {
				t.Fatal(err)
			}
			for i := range counts {
				for k := range taken[i] {
					want := int32(0)
					if k < counts[i] {
						want = 1
					}
					if got := taken[i][k].Load(); got != want {
						t.Fatalf("%d workers: item %d of phase %d ran %d times, want %d", n, k, i, got, want)
					}
				}
			}
		}
		p.close()
	}
}

// TestPoolLostHelpers asks that helpers which the system does not run delay
// nothing: none ever takes an item here, and the caller does all.
func TestPoolLostHelpers(t *testing.T) {
	var runs [2]int
	p := &pool{workers: workers(4)} // without their goroutines
	for i := range runs {
		p.phases = append(p.phases, phase{
			items: func() int { return 1000 }, grain: func() int { return 3 }, run: func(*worker, int) { runs[i]++ },
		})
	}
	for range 3 {
		if err := p.step(); err != nil {
			t.Fatal(err)
		}
	}
	if runs != [2]int{3000, 3000} {
		t.Errorf("items ran %v times, want 3000 each", runs)
	}
}

// TestPoolHeldItem asks that a helper which loses its processor amid an item holds
// back that item and no other: the caller does all the rest meanwhile.
func TestPoolHeldItem(t *testing.T) {
	defer goleak.VerifyNone(t)
	const items = 500
	list := workers(2)
	var others atomic.Int32
	rest, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p := newPool([]phase{{items: func() int { return items }, run: func(w *worker, _ int) {
		if w == list[1] {
			once.Do(func() {
				close(held)
				<-rest
			})
		} else {
			<-held // until the helper has one
		}
		if others.Add(1) == items-1 {
			close(rest)
		}
	}}}, list)
	if err := p.step(); err != nil {
		t.Fatal(err)
	}
	p.close()
	if n := others.Load(); n != items {
		t.Errorf("%d items ran, want %d", n, items)
	}
}

// TestTaking holds shares against what is left: never none, never more than the
// grain or than would leave others without work.
func TestTaking(t *testing.T) {
	for _, c := range []struct{ items, next, grain, workers, want int }{
		{100, 0, 0, 2, 1}, {100, 0, 1, 2, 4}, {100, 0, 2, 2, 16}, {1000, 0, 3, 2, 64}, {100, 0, 3, 2, 25},
		{100, 92, 3, 2, 2}, {100, 99, 3, 2, 1}, {100, 100, 3, 2, 1}, {100, 180, 3, 2, 1}, {64, 0, 3, 16, 2},
	} {
		s := uint64(7)<<phaseAt | uint64(c.grain)<<grainAt | uint64(c.items)<<itemBits | uint64(c.next)
		if got := taking(s, c.workers); got != c.want {
			t.Errorf("%+v: took %d", c, got)
		}
	}
}

// TestPoolPanic asks that a panic of any worker, in one of many items or in a
// phase of one, becomes the step's error and that of all later steps.
func TestPoolPanic(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, items := range []int{1, 100} {
		for _, n := range []int{1, 3} {
			p := newPool([]phase{
				{items: func() int { return 10 }, run: func(*worker, int) {}},
				{items: func() int { return items }, run: func(_ *worker, item int) {
					if item == items-1 {
						panic("boom")
					}
				}},
				{items: func() int { return 10 }, run: func(*worker, int) { t.Error("a phase ran after the panic") }},
			}, workers(n))
			for range 2 {
				if err := p.step(); err == nil || !strings.Contains(err.Error(), "boom") {
					t.Errorf("got %v, want the panic", err)
				}
			}
			p.close()
		}
	}
}

func TestMemory(t *testing.T) {
	for _, n := range []int64{0, 1, 63, 4096, 3<<20 + 5} {
		m, err := newMemory(n)
		if err != nil || int64(len(m.bytes)) != n {
			t.Fatalf("%d bytes: got %d, %v", n, len(m.bytes), err)
		}
		for _, b := range m.bytes {
			if b != 0 {
				t.Fatal("memory is not zero")
			}
		}
		for range 2 {
			if err := m.close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := newMemory(-1); err == nil {
		t.Error("−1 bytes were given")
	}
}
