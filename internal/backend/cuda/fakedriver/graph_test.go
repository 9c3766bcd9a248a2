package fakedriver

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// TestGraphs: what is captured does not run, and is replayed with its arguments as
// they were.
func TestGraphs(t *testing.T) {
	r := newRig(t, Options{})
	f := r.load(testPTX, "add_to")
	a, b := r.alloc(64), r.alloc(64)
	p, q := r.pinned(16), r.pinned(16)
	clear(p)
	r.ok(r.h.MemsetD8Async(b, 0, 64, r.stream))
	r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
	r.ok(r.in(a, p))
	dst, src, add, n := b, a, uint32(5), uint32(16)
	params := []unsafe.Pointer{unsafe.Pointer(&dst), unsafe.Pointer(&src), unsafe.Pointer(&add), unsafe.Pointer(&n)}
	r.ok(r.h.LaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, r.stream, &params[0], nil))
	r.ok(r.out(q, b))
	var g driver.Graph
	r.ok(r.t.StreamEndCapture(r.stream, &g))
	add = 100 // after the call: the graph keeps 5
	var x driver.GraphExec
	r.ok(r.t.GraphInstantiate(&x, g, 0))
	r.ok(r.t.GraphDestroy(g))
	if got := r.d.Nodes(); !slices.Equal(got, []int{3}) {
		t.Errorf("the graph has %v pieces, want 3", got)
	}
	r.ok(r.h.StreamSynchronize(r.stream))
	if q[0] == 5 {
		t.Error("captured work ran")
	}
	for round := range uint32(3) {
		for i := range p {
			p[i] = 10*round + uint32(i)
		}
		r.ok(r.h.GraphLaunch(x, r.stream))
		r.ok(r.h.StreamSynchronize(r.stream))
		if q[15] != 10*round+15+5 {
			t.Errorf("round %d gave %d, want %d", round, q[15], 10*round+20)
		}
	}
	r.want(r.h.GraphLaunch(x, 3), invalidHandle)
	r.ok(r.t.GraphExecDestroy(x))
	r.want(r.h.GraphLaunch(x, r.stream), driver.InvalidValue)
	r.want(r.t.GraphExecDestroy(x), driver.InvalidValue)
	r.want(r.t.GraphDestroy(g), driver.InvalidValue)
	r.want(r.t.GraphInstantiate(&x, g, 0), driver.InvalidValue)
}

// TestCaptureForbids: what waits or allocates while a capture is on fails, and spoils
// the capture.
func TestCaptureForbids(t *testing.T) {
	r := newRig(t, Options{})
	a := r.alloc(64)
	var other driver.Stream
	r.ok(r.t.StreamCreate(&other, driver.StreamNonBlocking))
	var e driver.Event
	r.ok(r.t.EventCreate(&e, driver.EventNoTiming))
	var at driver.DevicePtr
	var host unsafe.Pointer
	var m driver.Module
	for name, forbidden := range map[string]func() driver.Result{
		"alloc":          func() driver.Result { return r.t.MemAlloc(&at, 4) },
		"free":           func() driver.Result { return r.t.MemFree(a) },
		"host alloc":     func() driver.Result { return r.t.MemHostAlloc(&host, 4, 0) },
		"load":           func() driver.Result { return r.t.ModuleLoadDataEx(&m, &append([]byte(testPTX), 0)[0], 0, nil, nil) },
		"wait for it":    func() driver.Result { return r.h.StreamSynchronize(r.stream) },
		"wait for other": func() driver.Result { return r.h.StreamSynchronize(other) },
		"event":          func() driver.Result { return r.h.EventSynchronize(e) },
	} {
		r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
		if got := forbidden(); got != captureUnsupported {
			t.Errorf("%s during a capture gave %d", name, got)
		}
		r.want(r.h.MemsetD8Async(a, 0, 4, r.stream), captureInvalidated)
		var g driver.Graph
		r.want(r.t.StreamEndCapture(r.stream, &g), captureInvalidated)
		if g != 0 {
			t.Errorf("%s: a spoilt capture gave a graph", name)
		}
	}
	// A relaxed capture forbids only to wait for what is captured.
	r.ok(r.t.StreamBeginCapture(r.stream, captureRelaxed))
	r.ok(r.t.MemAlloc(&at, 4))
	// Work in another stream is no part of it, and runs.
	r.ok(r.h.MemsetD8Async(a, 1, 4, other))
	r.ok(r.h.StreamSynchronize(other))
	r.want(r.h.MemsetD8Async(a, 0, 4, 0), captureImplicit)
	var g driver.Graph
	r.want(r.t.StreamEndCapture(r.stream, &g), captureInvalidated)

	r.want(r.t.StreamEndCapture(r.stream, &g), illegalState)
	r.want(r.t.StreamBeginCapture(r.stream, 3), driver.InvalidValue)
	r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
	r.want(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal), illegalState)
	r.want(r.t.StreamEndCapture(r.stream, &g), captureInvalidated)

	if thread() != 0 {
		r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
		got := make(chan driver.Result)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r.t.CtxSetCurrent(primary)
			var g driver.Graph
			got <- r.t.StreamEndCapture(r.stream, &g)
		}()
		r.want(<-got, captureWrongThread)
		r.ok(r.t.StreamEndCapture(r.stream, &g))
	}
}

// TestCaptureForks: a second stream joins by an event, and must be waited for.
func TestCaptureForks(t *testing.T) {
	r := newRig(t, Options{})
	a := r.alloc(64)
	var side driver.Stream
	r.ok(r.t.StreamCreate(&side, driver.StreamNonBlocking))
	var fork, join driver.Event
	r.ok(r.t.EventCreate(&fork, driver.EventNoTiming))
	r.ok(r.t.EventCreate(&join, driver.EventNoTiming))
	var g driver.Graph
	begin := func() {
		r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
		r.ok(r.h.MemsetD8Async(a, 0, 64, r.stream))
		r.ok(r.h.EventRecord(fork, r.stream))
		r.ok(r.d.streamWaitEvent(side, fork, 0))
		r.ok(r.h.MemsetD8Async(a, 1, 4, side))
	}
	begin()
	r.want(r.t.StreamEndCapture(r.stream, &g), captureUnjoined)
	begin()
	r.ok(r.h.EventRecord(join, side))
	r.ok(r.h.MemsetD8Async(a, 2, 4, side)) // after the mark: still loose
	r.ok(r.d.streamWaitEvent(r.stream, join, 0))
	r.want(r.t.StreamEndCapture(r.stream, &g), captureUnjoined)
	begin()
	r.ok(r.h.EventRecord(join, side))
	r.ok(r.d.streamWaitEvent(r.stream, join, 0))
	r.ok(r.t.StreamEndCapture(r.stream, &g))
	var x driver.GraphExec
	r.ok(r.t.GraphInstantiate(&x, g, 0))
	if got := r.d.Nodes(); !slices.Equal(got, []int{2}) {
		t.Errorf("%v pieces, want 2", got)
	}
	p := r.pinned(1)
	r.ok(r.h.GraphLaunch(x, r.stream))
	r.ok(r.out(p, a))
	r.ok(r.h.StreamSynchronize(r.stream))
	if p[0] != 0x01010101 {
		t.Errorf("the replay left %#x", p[0])
	}
	// An event of a capture marks no time, and a capture can't wait for what is
	// outside it.
	r.want(r.h.EventSynchronize(fork), capturedEvent)
	r.want(r.d.streamWaitEvent(side, fork, 0), capturedEvent)
	r.ok(r.h.EventRecord(fork, side))
	r.ok(r.h.EventSynchronize(fork))
	r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
	r.want(r.d.streamWaitEvent(r.stream, fork, 0), captureIsolation)
	r.want(r.t.StreamEndCapture(r.stream, &g), captureInvalidated)
}

func TestModules(t *testing.T) {
	r := newRig(t, Options{Version: 11040})
	load := func(text string) (driver.Result, string) {
		log := make([]byte, 300)
		options := []driver.JITOption{driver.JITErrorLog, driver.JITErrorLogBytes}
		values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
		var m driver.Module
		code := r.t.ModuleLoadDataEx(&m, &append([]byte(text), 0)[0], 2, &options[0], &values[0])
		if code == driver.Success {
			return code, ""
		}
		if values[1] > 300 || log[values[1]-1] != 0 {
			t.Errorf("the log says it is %d bytes", values[1])
		}
		return code, string(log[:values[1]-1])
	}
	code, log := load(strings.Replace(testPTX, "add.s32", "addd.s32", 1))
	if code != driver.InvalidPTX || !strings.Contains(log, "addd") || !strings.Contains(log, "line") {
		t.Errorf("a wrong instruction gave %d and %q", code, log)
	}
	if code, log = load(strings.Replace(testPTX, ".version 7.0", ".version 7.5", 1)); code != unsupportedVersion || !strings.Contains(log, "7.4") {
		t.Errorf("PTX 7.5 on CUDA 11.4 gave %d and %q", code, log)
	}
	if code, _ = load(strings.Replace(testPTX, "sm_80", "sm_90", 1)); code != noBinary {
		t.Errorf("sm_90 on a card of 8.0 gave %d", code)
	}
	if code, _ = load(testPTX); code != driver.Success {
		t.Errorf("the kernel can't be loaded: %d", code)
	}
	var m driver.Module
	option := driver.JITOption(7)
	var value uintptr
	r.want(r.t.ModuleLoadDataEx(&m, &append([]byte(testPTX), 0)[0], 1, &option, &value), driver.InvalidValue)
	r.ok(r.t.ModuleLoadDataEx(&m, &append([]byte(testPTX), 0)[0], 0, nil, nil))
	var f driver.Function
	r.want(r.t.ModuleGetFunction(&f, m, &[]byte("none\x00")[0]), driver.NotFound)
	r.ok(r.t.ModuleGetFunction(&f, m, &[]byte("add_to\x00")[0]))
	var v int32
	r.ok(r.t.FuncGetAttribute(&v, driver.FuncMaxThreads, f))
	if v != 64 {
		t.Errorf("a block has at most %d threads, want 64", v)
	}
	r.want(r.t.FuncSetAttribute(f, driver.FuncMaxDynamic, 100<<10), driver.InvalidValue)
	r.want(r.t.FuncSetAttribute(f, driver.FuncRegisters, 1), driver.InvalidValue)

	a := r.alloc(4)
	n := uint32(0)
	params := []unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&a), unsafe.Pointer(&n), unsafe.Pointer(&n)}
	launch := func(gx, gy, bx, bz, shared uint32, p *unsafe.Pointer) driver.Result {
		return r.h.LaunchKernel(f, gx, gy, 1, bx, 1, bz, shared, r.stream, p, nil)
	}
	r.want(launch(0, 1, 1, 1, 0, &params[0]), driver.InvalidValue)
	r.want(launch(1, 65536, 1, 1, 0, &params[0]), driver.InvalidValue)
	r.want(launch(1, 1, 1025, 1, 0, &params[0]), driver.InvalidValue)
	r.want(launch(1, 1, 1, 65, 0, &params[0]), driver.InvalidValue)
	r.want(launch(1, 1, 65, 1, 0, &params[0]), outOfResources)
	r.want(launch(1, 1, 64, 1, 0, nil), driver.InvalidValue)
	r.want(launch(1, 1, 64, 1, 49<<10, &params[0]), driver.InvalidValue) // not asked for
	r.ok(r.t.FuncSetAttribute(f, driver.FuncMaxDynamic, 99<<10))
	r.ok(launch(1, 1, 64, 1, 49<<10, &params[0]))
	params[2] = nil
	r.want(launch(1, 1, 64, 1, 0, &params[0]), driver.InvalidValue)
	r.ok(r.h.StreamSynchronize(r.stream))
	r.ok(r.t.ModuleUnload(m))
	r.want(r.t.ModuleUnload(m), invalidHandle)
	r.want(launch(1, 1, 64, 1, 0, &params[0]), invalidHandle)
	r.want(r.t.ModuleGetFunction(&f, m, &[]byte("add_to\x00")[0]), invalidHandle)
}

func TestScript(t *testing.T) {
	r := newRig(t, Options{})
	f := r.load(testPTX, "add_to")
	var at driver.DevicePtr
	r.d.Fail(Failure{Call: "cuMemAlloc_v2", Nth: 2, Code: driver.OutOfMemory})
	r.ok(r.t.MemAlloc(&at, 64))
	var at2 driver.DevicePtr
	r.want(r.t.MemAlloc(&at2, 64), driver.OutOfMemory)
	r.ok(r.t.MemAlloc(&at2, 64))

	// A kernel that fails: the launch itself is fine, then nothing is.
	r.ok(r.h.MemsetD8Async(at, 0, 64, r.stream))
	r.d.Fail(Failure{Call: "cuLaunchKernel", Nth: 2, Code: driver.LaunchFailure, Late: true})
	r.ok(r.add(f, at, at, 1, 16))
	r.ok(r.h.StreamSynchronize(r.stream))
	r.ok(r.add(f, at, at, 1, 16))
	r.want(r.h.StreamSynchronize(r.stream), driver.LaunchFailure)
	r.want(r.add(f, at, at, 1, 16), driver.LaunchFailure)
	r.want(r.t.StreamDestroy(r.stream), driver.LaunchFailure)

	// The card is gone, at whatever call.
	r = newRig(t, Options{})
	r.d.Fail(Failure{Nth: 3, Code: illegalAddress, Sticky: true})
	at = r.alloc(4)
	r.ok(r.h.MemsetD8Async(at, 0, 4, r.stream))
	r.want(r.h.MemsetD8Async(at, 0, 4, r.stream), illegalAddress)
	r.want(r.h.StreamSynchronize(r.stream), illegalAddress)
	if r.d.Fault() == nil {
		t.Error("no reason is kept")
	}
}

// TestWarmStepAllocatesNothing: what the fake does for a step must not hide what the
// backend allocates.
func TestWarmStepAllocatesNothing(t *testing.T) {
	r := newRig(t, Options{NoExecute: true})
	f := r.load(testPTX, "add_to")
	a := r.alloc(64)
	p := r.pinned(16)
	var e driver.Event
	r.ok(r.t.EventCreate(&e, 0))
	n := uint32(16)
	params := []unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&a), unsafe.Pointer(&n), unsafe.Pointer(&n)}
	step := func() {
		r.ok(r.in(a, p))
		for range 5 {
			r.ok(r.h.LaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, r.stream, &params[0], nil))
		}
		r.ok(r.out(p, a))
		r.ok(r.h.EventRecord(e, r.stream))
		r.ok(r.h.EventSynchronize(e))
	}
	r.ok(r.t.StreamBeginCapture(r.stream, driver.CaptureThreadLocal))
	r.ok(r.h.LaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, r.stream, &params[0], nil))
	var g driver.Graph
	r.ok(r.t.StreamEndCapture(r.stream, &g))
	var x driver.GraphExec
	r.ok(r.t.GraphInstantiate(&x, g, 0))
	graph := func() {
		r.ok(r.h.GraphLaunch(x, r.stream))
		r.ok(r.h.StreamSynchronize(r.stream))
	}
	step()
	r.d.ResetCalls()
	step()
	graph()
	want := map[string]int64{"cuMemcpyHtoDAsync_v2": 1, "cuLaunchKernel": 5, "cuMemcpyDtoHAsync_v2": 1, "cuEventRecord": 1, "cuEventSynchronize": 1, "cuGraphLaunch": 1, "cuStreamSynchronize": 1}
	for name, n := range r.d.Calls() {
		if want[name] != n {
			t.Errorf("%s was called %d times, want %d", name, n, want[name])
		}
	}
	if got := r.d.CallCount(); got != 11 {
		t.Errorf("%d calls, want 11", got)
	}
	if got := testing.AllocsPerRun(20, func() { step(); graph() }); got != 0 {
		t.Errorf("a warm step makes %v allocations", got)
	}
}
