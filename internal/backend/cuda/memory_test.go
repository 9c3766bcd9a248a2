package cuda_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
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
