package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/metrics"
)

// ended keeps how requests ended.
type ended struct {
	mu    sync.Mutex
	fails []metrics.FailReason
}

func (e *ended) OpenEngine(metrics.EngineInfo) metrics.Observer { return e }
func (e *ended) Log([]metrics.EngineStats)                      {}
func (e *ended) Step(*metrics.StepStats)                        {}
func (e *ended) Finish(r *metrics.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fails = append(e.fails, r.Fail)
}

// TestLostCards: however a card is lost, at once or while it works, the requests that
// are under way and those that come end with the driver's call and code, are counted as
// the engine's errors, and Close returns. Another card serves on.
func TestLostCards(t *testing.T) {
	second, _ := simulated(t, fakedriver.Options{})
	other, err := engine.OpenFS(file(t), "m.gguf", options(second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	answer := func() []int32 {
		res, err := other.Complete(context.Background(), engine.Request{Tokens: []int32{5, 6, 7}, MaxTokens: 3, IgnoreEOS: true})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int32
		for _, tok := range res.Choices[0].Tokens {
			ids = append(ids, tok.ID)
		}
		return ids
	}
	want := answer()
	for i, f := range []fakedriver.Failure{
		{Call: "cuLaunchKernel", Nth: 3, Code: 700, Late: true},
		{Call: "cuGraphLaunch", Nth: 2, Code: 719, Late: true},
		{Call: "cuMemcpyDtoHAsync_v2", Nth: 2, Code: 719, Late: true},
		{Call: "cuEventSynchronize", Nth: 3, Code: 719, Sticky: true},
		{Call: "cuGraphInstantiateWithFlags", Nth: 1, Code: 700, Sticky: true},
		{Call: "cuStreamEndCapture", Nth: 1, Code: 719, Sticky: true},
		{Call: "cuMemcpyHtoDAsync_v2", Nth: 2, Code: 999},
		{Call: "cuLaunchKernel", Nth: 7, Code: 701}, // not sticky: this runner ends all the same
	} {
		pace := []fakedriver.Pace{fakedriver.Late, fakedriver.Whenever}[i%2]
		t.Run(fmt.Sprintf("%s-%d", f.Call, f.Code), func(t *testing.T) { lost(t, f, pace) })
	}
	if got := answer(); !slices.Equal(got, want) {
		t.Errorf("the other card gives %v after %v", got, want)
	}
}

// lost has a card fail under three requests. They ask for log probabilities, as picks that
// no kernel made say nothing.
func lost(t *testing.T, f fakedriver.Failure, pace fakedriver.Pace) {
	gpu, fake := simulated(t, fakedriver.Options{NoExecute: true, Pace: pace, Seed: uint64(f.Nth)})
	how := &ended{}
	o := options(gpu)
	o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{StatLoggers: []metrics.StatLogger{how}})
	e, err := engine.OpenFS(file(t), "m.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	typed := func(what string, err error) {
		var failed *engine.DeviceError
		var call *DriverError
		if !errors.As(err, &failed) || !errors.As(err, &call) || call.Code != f.Code {
			t.Errorf("%s ended with %v", what, err)
		}
	}
	fake.Fail(f)
	var streams []*engine.Stream
	for i := range 3 {
		s, err := e.Submit(context.Background(), engine.Request{Tokens: []int32{int32(i), 2}, MaxTokens: 30, IgnoreEOS: true, Logprobs: 1})
		if err != nil { // the card was lost by then
			typed("a late request", err)
			continue
		}
		streams = append(streams, s)
	}
	for _, s := range streams {
		var last error
		for _, err := range s.All() {
			last = err
		}
		typed("a request", last)
	}
	if e.Ready() {
		t.Error("the engine is ready")
	}
	_, err = e.Complete(context.Background(), engine.Request{Tokens: []int32{1}, MaxTokens: 3})
	typed("a request that came later", err)
	typed("Close", e.Close())
	how.mu.Lock()
	defer how.mu.Unlock()
	if len(how.fails) < len(streams) || slices.ContainsFunc(how.fails, func(r metrics.FailReason) bool { return r != metrics.EngineError }) {
		t.Errorf("%d requests ended as %v", len(streams), how.fails)
	}
	if n := o.Metrics.Faults(); n > 0 {
		t.Errorf("%d faults in metrics", n)
	}
	if f.Late || f.Sticky {
		return
	}
	if err := fake.Fault(); err != nil {
		t.Errorf("the card is lost: %v", err)
	}
}

// TestTwoCards: the first that has the memory takes the model.
func TestTwoCards(t *testing.T) {
	small, _ := simulated(t, fakedriver.Options{Card: fakedriver.Card{Memory: 2 << 20, Name: "Small"}})
	large, fake := simulated(t, fakedriver.Options{NoExecute: true})
	o := options(nil)
	o.Devices = append(slices.Clone(small), large...)
	e, err := engine.OpenFS(file(t), "m.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Complete(context.Background(), engine.Request{Tokens: []int32{1}, MaxTokens: 3, IgnoreEOS: true, Logprobs: 1}); err != nil {
		t.Error(err)
	}
	if len(fake.Launches()) == 0 {
		t.Error("the large card did not serve")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestRunsOutAnywhere: whichever reservation of opening an engine finds too little
// memory, all is given back, and the same card takes the model afterwards.
func TestRunsOutAnywhere(t *testing.T) {
	files := file(t)
	for _, call := range []string{"cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuGraphInstantiateWithFlags"} {
		gpu, fake := simulated(t, fakedriver.Options{NoExecute: true})
		for n := 1; ; n++ {
			fake.Fail(fakedriver.Failure{Call: call, Nth: n, Code: driver.OutOfMemory})
			o := options(gpu)
			e, err := engine.OpenFS(files, "m.gguf", o)
			if err == nil {
				if _, err := e.Complete(context.Background(), engine.Request{Tokens: []int32{1}, MaxTokens: 3, IgnoreEOS: true, Logprobs: 1}); err != nil {
					t.Errorf("%s %d: %v", call, n, err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
				if n == 1 && call != "cuDevicePrimaryCtxRetain" && call != "cuGraphInstantiateWithFlags" {
					t.Errorf("%s %d: nobody was told", call, n)
				}
				break
			}
			var memory *MemoryError
			if !errors.As(err, &memory) {
				t.Errorf("%s %d: %v", call, n, err)
			}
			for _, live := range fake.Live() {
				if !strings.HasSuffix(live, "primary context") && !strings.HasSuffix(live, "module") { // which the device keeps
					t.Errorf("%s %d: not given back: %v", call, n, live)
				}
			}
			o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
			if e, err = engine.OpenFS(files, "m.gguf", o); err != nil {
				t.Errorf("%s %d: again: %v", call, n, err)
				break
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
