package cuda

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/model/synth"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// simulated are the devices of a machine with one card, which an interpreter plays.
func simulated(t *testing.T, o fakedriver.Options) ([]engine.Device, *fakedriver.Driver) {
	t.Helper()
	fake := fakedriver.New(o)
	d, err := driver.New(fake.Library())
	if err != nil {
		t.Fatal(err)
	}
	list, err := devices(d, Options{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d devices, %v", len(list), err)
	}
	t.Cleanup(func() {
		err := errors.Join(list[0].Close(), d.Close())
		if lost := errors.As(err, new(*DriverError)); lost && fake.Fault() != nil {
			return // of a card that is lost nothing can be given back
		}
		if err != nil {
			t.Error(err)
		}
		if live := fake.Live(); len(live) > 0 {
			t.Errorf("not given back: %v", live)
		}
	})
	return list, fake
}

func file(t *testing.T) fstest.MapFS {
	t.Helper()
	var b bytes.Buffer
	if err := synth.Write(&b, "tiny-qwen3", "Q8_0", 1); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"m.gguf": {Data: b.Bytes()}}
}

func options(d []engine.Device) engine.Options {
	return engine.Options{Devices: d, KVPages: 12, Limits: sched.Limits{MaxSequences: 3, MaxTokens: 32}, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})}
}

// TestEngine: three requests at once, one over the bound of a page, have the tokens
// that the CPU gives.
func TestEngine(t *testing.T) {
	files := file(t)
	requests := []engine.Request{
		{Tokens: []int32{1}, MaxTokens: 5, IgnoreEOS: true},
		{Tokens: []int32{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, MaxTokens: 4, IgnoreEOS: true},
		{Tokens: []int32{100, 200, 300, 400}, MaxTokens: 5, IgnoreEOS: true},
	}
	answers := func(d []engine.Device) [][]int32 {
		e, err := engine.OpenFS(files, "m.gguf", options(d))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		var streams []*engine.Stream
		for _, r := range requests {
			s, err := e.Submit(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, s)
		}
		var all [][]int32
		for _, s := range streams {
			var ids []int32
			for tok, err := range s.All() {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tok.ID)
			}
			all = append(all, ids)
		}
		return all
	}
	gpu, fake := simulated(t, fakedriver.Options{Pace: fakedriver.Whenever, Seed: 1})
	got, want := answers(gpu), answers(nil)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("request %d: %v on the GPU, %v on the CPU", i, got[i], want[i])
		}
	}
	if err := fake.Fault(); err != nil {
		t.Error(err)
	}
}

// TestDeviceFails: a card that is lost ends the engine's requests with an error that
// names the call. The process goes on, with another engine.
func TestDeviceFails(t *testing.T) {
	gpu, fake := simulated(t, fakedriver.Options{NoExecute: true})
	e, err := engine.OpenFS(file(t), "m.gguf", options(gpu))
	if err != nil {
		t.Fatal(err)
	}
	fake.Fail(fakedriver.Failure{Call: "cuLaunchKernel", Nth: 3, Code: 719, Sticky: true})
	_, err = e.Complete(context.Background(), engine.Request{Tokens: []int32{1, 2}, MaxTokens: 3})
	var failed *engine.DeviceError
	var call *DriverError
	if !errors.As(err, &failed) || !errors.As(err, &call) || call.Code != 719 || !strings.HasPrefix(call.Call, "cu") {
		t.Errorf("the request ended with %v", err)
	}
	if e.Ready() {
		t.Error("the engine is ready")
	}
	if err := e.Close(); !errors.As(err, &failed) {
		t.Errorf("Close returned %v", err)
	}
	other, err := engine.OpenFS(file(t), "m.gguf", options(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Complete(context.Background(), engine.Request{Tokens: []int32{1, 2}, MaxTokens: 3}); err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestTooSmallACard: what does not fit is refused before anything is loaded, by the
// card's memory and not the machine's.
func TestTooSmallACard(t *testing.T) {
	gpu, fake := simulated(t, fakedriver.Options{Card: fakedriver.Card{Memory: 2 << 20}})
	_, err := engine.OpenFS(file(t), "m.gguf", options(gpu))
	var memory *engine.MemoryError
	if !errors.As(err, &memory) || memory.Available > 2<<20 {
		t.Errorf("%v", err)
	}
	if n := fake.Calls()["cuMemAlloc_v2"]; n != 0 {
		t.Errorf("%d allocations", n)
	}
}

// TestFullCard: the most KV pages that fit are such that the driver still has memory
// for kernels and graphs.
func TestFullCard(t *testing.T) {
	gpu, _ := simulated(t, fakedriver.Options{Card: fakedriver.Card{Memory: 16 << 20}})
	o := options(gpu)
	o.KVPages = 1 << 20
	_, err := engine.OpenFS(file(t), "m.gguf", o)
	var memory *engine.MemoryError
	if !errors.As(err, &memory) || memory.FitPages == 0 {
		t.Fatal(err)
	}
	fit := memory.FitPages
	o.KVPages = fit + fit/2 // a cache of Q8_0, which has no kernels, would fit
	if _, err := engine.OpenFS(file(t), "m.gguf", o); !errors.As(err, &memory) || len(memory.FitKVTypes) > 0 {
		t.Errorf("a KV cache of %v is said to fit: %v", memory.FitKVTypes, err)
	}
	o.KVPages = fit
	e, err := engine.OpenFS(file(t), "m.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Complete(context.Background(), engine.Request{Tokens: []int32{1, 2}, MaxTokens: 3, IgnoreEOS: true}); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestKVTypeThatLacks: so is a type of the cache for which there are no kernels.
func TestKVTypeThatLacks(t *testing.T) {
	gpu, fake := simulated(t, fakedriver.Options{})
	o := options(gpu)
	o.KVType = engine.KVQ8_0
	_, err := engine.OpenFS(file(t), "m.gguf", o)
	var lacks *UnsupportedError
	if !errors.As(err, &lacks) || !strings.Contains(err.Error(), "q8_0") {
		t.Errorf("%v", err)
	}
	if n := fake.Calls()["cuMemAlloc_v2"]; n != 0 {
		t.Errorf("%d allocations", n)
	}
}
