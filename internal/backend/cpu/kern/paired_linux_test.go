package kern

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/paddock-go/paddock/internal/quant"
)

var (
	pairedCols   = flag.Int("paired.cols", 1024, "inner dimension of BenchmarkPaired's matrices")
	pairedArena  = flag.Int("paired.mib", 256, "MiB of weights of BenchmarkPaired: more than the caches hold")
	pairedPanels = flag.Int("paired.panels", 8, "panels that BenchmarkPaired's items take, a multiple of 4")
)

// arena is memory outside the heap in 2 MiB pages, as models' weights have it.
func arena(b *testing.B, n int) []byte {
	data, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := syscall.Munmap(data); err != nil {
			b.Error(err)
		}
	})
	_ = syscall.Madvise(data, syscall.MADV_HUGEPAGE)
	return data
}

// crew runs items on a fixed number of goroutines, which spin between calls.
type crew struct {
	run   func(worker, item int)
	items int64
	next  atomic.Int64
	turn  atomic.Int64
	left  atomic.Int64
	n     int
}

func newCrew(b *testing.B, n int) *crew {
	c := &crew{n: n}
	for w := range n - 1 {
		go func() {
			defer pin(w + 1)()
			for turn := int64(1); ; turn++ {
				for c.turn.Load() < turn {
				}
				if c.run == nil {
					return
				}
				c.work(w + 1)
				c.left.Add(-1)
			}
		}()
	}
	unpin := pin(0)
	b.Cleanup(func() {
		c.run = nil
		c.turn.Add(1)
		unpin()
	})
	return c
}

// pin keeps the calling goroutine on one processor, where the system lets it.
func pin(cpu int) (unpin func()) {
	runtime.LockOSThread()
	var before, set unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil {
		return runtime.UnlockOSThread
	}
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set)
	return func() {
		_ = unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	}
}

func (c *crew) work(w int) {
	for {
		i := c.next.Add(1) - 1
		if i >= c.items {
			return
		}
		c.run(w, int(i))
	}
}

func (c *crew) do(items int, run func(worker, item int)) time.Duration {
	start := time.Now()
	c.run, c.items = run, int64(items)
	c.next.Store(0)
	c.left.Store(int64(c.n - 1))
	c.turn.Add(1)
	c.work(0)
	for c.left.Load() > 0 {
	}
	return time.Since(start)
}

// BenchmarkPaired holds the dot kernels against what the machine gives at the
// same moment: few rows against a plain read of as many bytes of the same
// memory, many rows against a loop of dot products or FMA. A round does both;
// the figures are medians over the rounds.
//
//	GB/s, read-GB/s, of-read     bytes of weights, and their share of the plain read
//	Gop/s, peak-Gop/s, of-peak   multiplications and additions, where rows ≥ 16
func BenchmarkPaired(b *testing.B) {
	for _, f := range quant.Formats() {
		pf, _ := Lookup(f.Type)
		if pf.dots != nil && pf.BlockElems != 256 {
			continue // no kernels of its own
		}
		for _, l := range Supported()[1:] {
			for _, rows := range []int{1, 4, 8, 16, 32} {
				for _, threads := range []int{1, 2} {
					b.Run(fmt.Sprintf("%s/%v/rows=%d/threads=%d", f.Name, l, rows, threads), func(b *testing.B) {
						paired(b, f, pf, New(l), rows, threads)
					})
				}
			}
		}
	}
}

// stripedRows is up to how many rows Stripes is measured, and then Linear.
const stripedRows = 16

func paired(b *testing.B, f quant.Format, pf *Format, k *Kernels, rows, threads int) {
	atOnce := *pairedPanels
	cols := *pairedCols
	size := pf.PanelBytes(cols)
	window := 16 << 20 // bytes of weights of one round
	if rows >= 16 {
		window = 1 << 20
	}
	window = min(window, *pairedArena<<19) // twice in the arena
	items := max(1, window/(atOnce*size*threads)) * threads
	window = items * atOnce * size
	windows := max(2, *pairedArena<<20/window)
	data := arena(b, windows*window)
	one := newProduct(rand.New(rand.NewPCG(1, 1)), f, fillers[0], Lanes, cols, 1)
	m := NewMatrix(pf, windows*items*atOnce*Lanes, cols, data)
	m.Pack(0, one.raw)
	for p := 1; p < m.Panels(); p++ {
		copy(m.panel(p), m.panel(0))
	}
	a := NewActs(f.Act, rows, cols)
	x := make([]float32, cols)
	for r := range rows {
		normalActs(1)(rand.New(rand.NewPCG(2, uint64(r))), x)
		k.Round(a, r, x)
	}
	stride := items * atOnce * Lanes
	out := make([]float32, rows*stride)
	views := make([]*Matrix, windows)
	for i := range views {
		views[i] = NewMatrix(pf, stride, cols, data[i*window:(i+1)*window])
	}
	scratch := make([]LinearScratch, threads)
	c := newCrew(b, threads)
	floats := f.Act == quant.ActF32 || f.Act == quant.ActBF16
	ops := 2 * float64(stride) * float64(cols) * float64(rows)
	var kernel, read, peak []float64
	for i := 0; b.Loop(); i++ {
		w := views[i%windows]
		kernel = append(kernel, c.do(items, func(worker, item int) {
			if rows > stripedRows {
				k.Linear(&scratch[worker], w, a, 0, rows, atOnce*item, (item+1)*atOnce, out, stride)
				return
			}
			// Each thread has four streams of its own, as far as they keep pace.
			n, share := atOnce/Streams, items/threads
			first := item % threads * share * atOnce
			k.Stripes(&scratch[worker], w, a, 0, rows, first+item/threads*n, n, share*n, out, stride)
		}).Seconds())
		if rows < 16 {
			w = views[(i+windows/2)%windows]
			share := len(w.Data) / threads
			read = append(read, c.do(threads, func(_, item int) {
				k.ReadPeak(w.Data[item*share : (item+1)*share])
			}).Seconds())
			continue
		}
		var done atomic.Int64
		took := c.do(threads, func(_, _ int) {
			if floats {
				done.Add(k.FMAPeak(20000))
			} else {
				done.Add(k.DotPeak(20000))
			}
		})
		peak = append(peak, float64(done.Load())/took.Seconds())
	}
	t := median(kernel)
	b.ReportMetric(float64(window)/t/1e9, "GB/s")
	if rows < 16 {
		b.ReportMetric(float64(window)/median(read)/1e9, "read-GB/s")
		b.ReportMetric(median(read)/t, "of-read")
		return
	}
	b.ReportMetric(ops/t/1e9, "Gop/s")
	b.ReportMetric(median(peak)/1e9, "peak-Gop/s")
	b.ReportMetric(ops/t/median(peak), "of-peak")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
