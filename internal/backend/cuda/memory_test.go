package cuda_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/quant"
)

// TestMemoryKeepsSomeBack: opening a device takes nothing of it, and of what is free a
// part is left to the driver.
func TestMemoryKeepsSomeBack(t *testing.T) {
	for _, c := range []struct{ all, kept uint64 }{
		{64 << 20, 4 << 20}, {1 << 30, 64 << 20}, {6 << 30, 384 << 20}, {16 << 30, 512 << 20}, {100_000_000_000, 3_000_000_000},
	} {
		d, fake := simulated(t, fakedriver.Options{Card: fakedriver.Card{Memory: c.all}}, cuda.Options{})
		if live := fake.Live(); len(live) > 0 {
			t.Errorf("opening the device made %v", live)
		}
		got, known := d.Memory()
		if want := int64(c.all - c.all/64 - c.kept); got != want || !known { // a 64th is the context's
			t.Errorf("of %d bytes %d are available, %v, want %d", c.all, got, known, want)
		}
	}
}

// TestMemoryOfAClosedDevice: who asks while the device is closed, or later, touches
// nothing that was given back.
func TestMemoryOfAClosedDevice(t *testing.T) {
	d, fake := simulated(t, fakedriver.Options{}, cuda.Options{})
	if _, known := d.Memory(); !known {
		t.Fatal("memory of an open device is not known")
	}
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for known := true; known; {
				_, known = d.Memory()
			}
		})
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	asking.Wait()
	fake.ResetCalls()
	if _, known := d.Memory(); known || fake.CallCount() > 0 {
		t.Errorf("of a closed device memory is known: %v, after %v", known, fake.Calls())
	}
}

// TestPlanIsWhatIsTaken: of the card, models and runners take what the plan said, and no
// byte more than rounding.
func TestPlanIsWhatIsTaken(t *testing.T) {
	const rounding = 512 // of each allocation: one of a model, two of a runner
	for _, format := range formats {
		d, _ := faked(t, fakedriver.Options{NoExecute: true, Card: fakedriver.Card{Memory: 256 << 20, Bare: true}}, cuda.Options{Modules: stubs(t)})
		free := func() int64 {
			n, known := d.Memory()
			if !known {
				t.Fatal("the memory is not known")
			}
			return n
		}
		m := model(t, d, 3, format)
		plan, err := d.Plan(m.Prog, m)
		if err != nil {
			t.Fatal(err)
		}
		before := free()
		loaded := load(t, d, m)
		if took := before - free(); took < plan.WeightBytes() || took > plan.WeightBytes()+rounding {
			t.Errorf("%v: the weights took %d bytes, planned were %d", format, took, plan.WeightBytes())
		}
		for _, l := range []backend.Limits{
			limits(backend.KVF16), limits(backend.KVF32),
			{Rows: 1, Seqs: 1, LogitRows: 1, Pages: 1, PageSize: 16, Context: 1, KVType: backend.KVF16},
			{Rows: 700, Seqs: 90, LogitRows: 130, Pages: 300, PageSize: 32, Context: m.Prog.Context, KVType: backend.KVBF16},
		} {
			kv, scratch := plan.RunnerBytes(l)
			before := free()
			r, err := loaded.NewRunner(l)
			if err != nil {
				t.Fatal(err)
			}
			if took := before - free(); took < kv+scratch || took > kv+scratch+2*rounding {
				t.Errorf("%v: a runner took %d bytes, planned were %d and %d", format, took, kv, scratch)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if now := free(); now != before {
				t.Errorf("%v: a runner kept %d bytes", format, before-now)
			}
		}
	}
}

// TestCloseAtOnce: devices and models are closed by many at once, while runners come
// and go: each of those works or is refused.
func TestCloseAtOnce(t *testing.T) {
	d, _ := faked(t, fakedriver.Options{NoExecute: true, Pace: fakedriver.Whenever}, cuda.Options{Modules: stubs(t)})
	m := model(t, d, 1, quant.Q8_0)
	loaded := load(t, d, m)
	l := limits(backend.KVF16)
	first, err := loaded.NewRunner(l)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 20 {
				r, err := loaded.NewRunner(l)
				if err != nil {
					return // closed
				}
				if err := errors.Join(r.Run(batch(l, 0, 3), make([]float32, m.Prog.OutWidth())), r.Close()); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			if err := errors.Join(loaded.Close(), d.Close()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if other, err := d.Load(m.Prog, m, nil); err == nil {
				if err := other.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(first.Run(batch(l, 0, 3), make([]float32, m.Prog.OutWidth())), first.Close(), first.Close()); err != nil {
		t.Error(err)
	}
}

// TestRanOut: whatever call of Load or NewRunner it is in that the driver runs out of
// memory, the error says that.
func TestRanOut(t *testing.T) {
	m, modules := small(t)
	for _, call := range []string{"cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx", "cuStreamCreate", "cuMemHostAlloc", "cuMemAlloc_v2", "cuEventCreate", "cuMemsetD8Async"} {
		for n := 1; n <= 2; n++ {
			s := &session{fake: fakedriver.New(fakedriver.Options{NoExecute: true}), modules: modules}
			s.fake.Fail(fakedriver.Failure{Call: call, Nth: n, Code: driver.OutOfMemory})
			err := s.use(m, limits(backend.KVF16))
			var memory *cuda.MemoryError
			if err == nil && n == 1 || err != nil && !errors.As(err, &memory) {
				t.Errorf("%s, time %d: %v", call, n, err)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			if live := s.fake.Live(); len(live) > 0 {
				t.Errorf("%s, time %d: not given back: %v", call, n, live)
			}
		}
	}
}
