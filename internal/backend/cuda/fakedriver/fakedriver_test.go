package fakedriver

import (
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
	"github.com/paddock-go/paddock/internal/dl"
)

// testPTX has one kernel: dst[i] = src[i] + add for i < n, one thread a value. The
// second writes 4 bytes beyond n.
const testPTX = `
.version 7.0
.target sm_80
.address_size 64
.visible .entry add_to(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 p3)
.maxntid 64, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [p0];
	ld.param.u64 %rd2, [p1];
	ld.param.u32 %r1, [p2];
	ld.param.u32 %r2, [p3];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %p1, %r3, %r2;
	@%p1 bra $L;
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	mul.wide.u32 %rd5, %r3, 4;
	add.s64 %rd6, %rd4, %rd5;
	add.s64 %rd7, %rd3, %rd5;
	ld.global.u32 %r4, [%rd6];
	add.s32 %r5, %r4, %r1;
	st.global.u32 [%rd7], %r5;
$L:
	ret;
}
`

// rig is a driver with the tables bound, a context on this thread, and a stream.
type rig struct {
	*testing.T
	d      *Driver
	t      driver.Table
	h      driver.Hot
	stream driver.Stream
}

// bare binds everything and does no more.
func bare(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{T: t, d: New(o)}
	lib := r.d.Library()
	bound := 0
	for symbol := range r.d.functions() {
		field := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(symbol, "cu"), "_v2"), "WithFlags")
		for _, table := range []reflect.Value{reflect.ValueOf(&r.t).Elem(), reflect.ValueOf(&r.h).Elem()} {
			if f := table.FieldByName(field); f.IsValid() {
				if err := lib.Bind(symbol, f.Addr().Interface()); err != nil {
					t.Fatal(err)
				}
				bound++
			}
		}
	}
	if want := reflect.TypeFor[driver.Table]().NumField() + reflect.TypeFor[driver.Hot]().NumField(); bound != want {
		t.Fatalf("%d functions were bound, the tables have %d", bound, want)
	}
	return r
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r := bare(t, o)
	r.ok(r.t.Init(0))
	var c driver.Context
	r.ok(r.t.DevicePrimaryCtxRetain(&c, 0))
	r.ok(r.t.CtxSetCurrent(c))
	t.Cleanup(func() { r.t.CtxSetCurrent(0) })
	r.ok(r.t.StreamCreate(&r.stream, driver.StreamNonBlocking))
	return r
}

func (r *rig) ok(code driver.Result) { r.Helper(); r.want(code, driver.Success) }

func (r *rig) want(code, want driver.Result) {
	r.Helper()
	if code != want {
		r.Fatalf("the call gave %d (%s), want %d; fault: %v", code, codeTexts[code][0], want, r.d.Fault())
	}
}

func (r *rig) alloc(bytes int) driver.DevicePtr {
	r.Helper()
	var at driver.DevicePtr
	r.ok(r.t.MemAlloc(&at, uint64(bytes)))
	return at
}

func (r *rig) pinned(words int) []uint32 {
	r.Helper()
	var at unsafe.Pointer
	r.ok(r.t.MemHostAlloc(&at, uint64(4*words), 0))
	return unsafe.Slice((*uint32)(at), words)
}

func (r *rig) in(to driver.DevicePtr, from []uint32) driver.Result {
	return r.h.MemcpyHtoDAsync(to, unsafe.Pointer(&from[0]), uint64(4*len(from)), r.stream)
}

func (r *rig) out(to []uint32, from driver.DevicePtr) driver.Result {
	return r.h.MemcpyDtoHAsync(unsafe.Pointer(&to[0]), from, uint64(4*len(to)), r.stream)
}

func (r *rig) load(ptx, name string) driver.Function {
	r.Helper()
	var m driver.Module
	r.ok(r.t.ModuleLoadDataEx(&m, &append([]byte(ptx), 0)[0], 0, nil, nil))
	var f driver.Function
	r.ok(r.t.ModuleGetFunction(&f, m, &append([]byte(name), 0)[0]))
	return f
}

// add launches add_to with 64 threads.
func (r *rig) add(f driver.Function, dst, src driver.DevicePtr, add, n uint32) driver.Result {
	params := []unsafe.Pointer{unsafe.Pointer(&dst), unsafe.Pointer(&src), unsafe.Pointer(&add), unsafe.Pointer(&n)}
	return r.h.LaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, r.stream, &params[0], nil)
}

func TestBind(t *testing.T) {
	d := New(Options{Without: []string{"cuMemAlloc_v2"}})
	lib := d.Library()
	// The old names are not there where there is a newer version; nor is what an
	// older library lacks.
	for _, symbol := range []string{"cuMemAlloc", "cuMemFree", "cuMemGetInfo", "cuDeviceTotalMem", "cuDeviceGetUuid", "cuStreamDestroy", "cuEventDestroy",
		"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuDevicePrimaryCtxRelease", "cuStreamBeginCapture", "cuMemAlloc_v2", "cuNothing"} {
		var fn func(at *driver.DevicePtr, bytes uint64) driver.Result
		var missing *dl.SymbolError
		if err := lib.Bind(symbol, &fn); !errors.As(err, &missing) || missing.Symbol != symbol || fn != nil {
			t.Errorf("binding %s gave %v", symbol, err)
		}
	}
	var wrong func() driver.Result
	if err := lib.Bind("cuInit", &wrong); err == nil || wrong != nil {
		t.Error("a func of another type was bound")
	}
	if lib.Close() != nil || lib.Close() == nil {
		t.Error("closing counts wrong")
	}
}

// TestThroughPackageDriver starts the real package on the fake.
func TestThroughPackageDriver(t *testing.T) {
	d, err := driver.New(New(Options{}).Library())
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Facts(0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "Fake sm_80" || f.UUID != "GPU-face0102-0304-0506-0708-090a0b0c0d0e" || f.Major != 8 || f.MaxShared != 99<<10 || f.Memory != 1<<30 || f.MaxGrid[1] != 65535 {
		t.Errorf("the card says %+v", f)
	}
	_, err = d.Facts(1)
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != invalidDevice || e.Name != "CUDA_ERROR_INVALID_DEVICE" || e.Text == "" {
		t.Errorf("a second card gave %v", err)
	}
	if _, err = driver.New(New(Options{NoDevice: true}).Library()); !errors.As(err, &e) || e.Code != driver.NoDevice || e.Name != "CUDA_ERROR_NO_DEVICE" {
		t.Errorf("no card gave %v", err)
	}
	var old *driver.VersionError
	if _, err = driver.New(New(Options{Version: 11030}).Library()); !errors.As(err, &old) {
		t.Errorf("CUDA 11.3 gave %v", err)
	}
	// What one of CUDA 11.3 lacks is its age's.
	without := []string{"cuDeviceGetUuid_v2", "cuGraphInstantiateWithFlags"}
	if _, err = driver.New(New(Options{Version: 11030, Without: without}).Library()); !errors.As(err, &old) || old.Got != 11030 {
		t.Errorf("CUDA 11.3 with the functions that it has gave %v", err)
	}
}

func TestContext(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := bare(t, Options{})
	var n int32
	r.want(r.t.DeviceGetCount(&n), notInitialized)
	r.want(r.t.Init(1), driver.InvalidValue)
	r.ok(r.t.Init(0))
	var at driver.DevicePtr
	r.want(r.t.MemAlloc(&at, 4), invalidContext)
	r.want(r.t.CtxSetCurrent(5), invalidContext)
	r.want(r.t.CtxSetCurrent(primary), contextDestroyed)
	var c driver.Context
	r.want(r.t.DevicePrimaryCtxRetain(&c, 1), invalidDevice)
	r.ok(r.t.DevicePrimaryCtxRetain(&c, 0))
	r.want(r.t.MemAlloc(&at, 4), invalidContext) // retained, but not this thread's
	r.ok(r.t.CtxSetCurrent(c))
	r.ok(r.t.MemAlloc(&at, 4))
	if thread() != 0 {
		other := make(chan driver.Result)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var at driver.DevicePtr
			other <- r.t.MemAlloc(&at, 4)
		}()
		r.want(<-other, invalidContext)
	}
	if got := r.d.Live(); !slices.Equal(got, []string{"1 × primary context", "1 × device memory"}) {
		t.Errorf("live: %q", got)
	}
	r.ok(r.t.MemFree(at))
	r.ok(r.t.DevicePrimaryCtxRelease(0))
	r.want(r.t.DevicePrimaryCtxRelease(0), invalidContext)
	r.want(r.t.MemAlloc(&at, 4), contextDestroyed)
	r.ok(r.t.CtxSetCurrent(0))
	if got := r.d.Live(); len(got) != 0 {
		t.Errorf("live after the end: %q", got)
	}
}

func TestMemory(t *testing.T) {
	r := newRig(t, Options{Card: Card{Memory: 4096, Bare: true}})
	a := r.alloc(1000)
	var free, total uint64
	r.ok(r.t.MemGetInfo(&free, &total))
	if free != 3072 || total != 4096 {
		t.Errorf("%d of %d bytes are free, want 3072 of 4096", free, total)
	}
	var b driver.DevicePtr
	r.want(r.t.MemAlloc(&b, 3073), driver.OutOfMemory)
	r.want(r.t.MemAlloc(&b, 0), driver.InvalidValue)
	r.want(r.t.MemFree(a+4), driver.InvalidValue)
	r.ok(r.t.MemFree(a))
	r.want(r.t.MemFree(a), driver.InvalidValue)
	r.ok(r.t.MemFree(0))
	r.ok(r.t.MemAlloc(&b, 4096))

	p := r.pinned(4)
	r.want(r.in(a, p), driver.InvalidValue) // freed
	r.want(r.h.MemcpyHtoDAsync(b+4090, unsafe.Pointer(&p[0]), 8, r.stream), driver.InvalidValue)
	r.want(r.h.MemcpyHtoDAsync(b, unsafe.Pointer(&make([]uint32, 4)[0]), 8, r.stream), driver.InvalidValue)
	r.want(r.h.MemcpyDtoHAsync(unsafe.Pointer(&p[2]), b, 12, r.stream), driver.InvalidValue)
	r.want(r.h.MemcpyDtoDAsync(b, b+4092, 8, r.stream), driver.InvalidValue)
	r.want(r.h.MemsetD8Async(b+1, 0, 4096, r.stream), driver.InvalidValue)
	r.want(r.in(b, p), driver.Success)
	r.want(r.h.MemsetD8Async(b, 0, 1, 77), invalidHandle)
	r.ok(r.h.StreamSynchronize(r.stream))
	r.ok(r.t.MemFreeHost(unsafe.Pointer(&p[0])))
	r.want(r.t.MemFreeHost(unsafe.Pointer(&p[0])), driver.InvalidValue)
}

// TestWorkRunsLate: a stream's work happens at the wait, in order, with a kernel's
// arguments as they were at the call.
func TestWorkRunsLate(t *testing.T) {
	r := newRig(t, Options{})
	f := r.load(testPTX, "add_to")
	a, b := r.alloc(64), r.alloc(64)
	p, q := r.pinned(16), r.pinned(16)
	for i := range p {
		p[i] = uint32(i)
	}
	r.ok(r.in(a, p))
	r.ok(r.add(f, b, a, 7, 16))
	r.ok(r.out(q, b))
	if q[3] == 10 {
		t.Error("the result is there before anyone waited")
	}
	r.ok(r.h.StreamSynchronize(r.stream))
	for i := range q {
		if q[i] != uint32(i)+7 {
			t.Fatalf("value %d is %d, want %d", i, q[i], i+7)
		}
	}
	r.ok(r.h.MemsetD8Async(a, 1, 4, r.stream))
	r.ok(r.h.MemcpyDtoDAsync(a+4, a, 8, r.stream))
	r.ok(r.out(q, a))
	r.ok(r.h.StreamSynchronize(r.stream))
	if q[0] != 0x01010101 || q[1] != 0x01010101 || q[2] != 1 || q[3] != 3 {
		t.Errorf("after set and copy: %#x", q[:4])
	}
}

func TestEvents(t *testing.T) {
	r := newRig(t, Options{})
	var st2 driver.Stream
	r.ok(r.t.StreamCreate(&st2, driver.StreamNonBlocking))
	var e, f, g driver.Event
	r.want(r.t.EventCreate(&e, 64), driver.InvalidValue)
	r.ok(r.t.EventCreate(&e, 0))
	r.ok(r.t.EventCreate(&f, 0))
	r.ok(r.t.EventCreate(&g, driver.EventNoTiming))
	var ms float32
	r.want(r.t.EventElapsedTime(&ms, e, f), invalidHandle) // never recorded
	r.ok(r.h.EventSynchronize(e))
	a := r.alloc(4 << 10)
	r.ok(r.h.EventRecord(e, r.stream))
	r.ok(r.h.MemsetD8Async(a, 0, 4<<10, r.stream))
	r.ok(r.h.EventRecord(f, r.stream))
	r.ok(r.h.EventRecord(g, st2))
	r.want(r.t.EventElapsedTime(&ms, e, f), notReady)
	r.ok(r.h.EventSynchronize(f))
	r.ok(r.t.EventElapsedTime(&ms, e, f))
	if ms <= 0 {
		t.Errorf("a set took %v ms", ms)
	}
	r.want(r.t.EventElapsedTime(&ms, e, g), invalidHandle)
	r.want(r.h.EventRecord(e, 99), invalidHandle)
	r.ok(r.t.EventDestroy(g))
	r.want(r.t.EventDestroy(g), invalidHandle)
	r.want(r.h.EventSynchronize(g), invalidHandle)

	// One stream waits for another: the work of both is done at the wait.
	p := r.pinned(1)
	r.ok(r.h.MemsetD8Async(a, 3, 4, st2))
	r.ok(r.h.EventRecord(f, st2))
	r.ok(r.d.streamWaitEvent(r.stream, f, 0))
	r.ok(r.out(p, a))
	r.ok(r.h.StreamSynchronize(r.stream))
	if p[0] != 0x03030303 {
		t.Errorf("the stream did not wait: %#x", p[0])
	}
	// A query brings work on, a piece at a time.
	r.ok(r.h.MemsetD8Async(a, 4, 4, st2))
	r.ok(r.h.EventRecord(f, st2))
	r.want(r.d.eventQuery(f), notReady)
	r.want(r.d.eventQuery(f), notReady)
	r.ok(r.d.eventQuery(f))
	r.ok(r.h.MemsetD8Async(a, 4, 4, st2))
	r.want(r.d.streamQuery(st2), notReady)
	r.ok(r.d.streamQuery(st2))
	r.ok(r.t.StreamDestroy(st2))
	r.want(r.h.StreamSynchronize(st2), invalidHandle)
}

func TestFaultIsSticky(t *testing.T) {
	r := newRig(t, Options{})
	f := r.load(testPTX, "add_to")
	a := r.alloc(60) // one word less than the kernel writes
	r.ok(r.h.MemsetD8Async(a, 0, 60, r.stream))
	r.ok(r.add(f, a, a, 1, 16))
	r.want(r.h.StreamSynchronize(r.stream), illegalAddress)
	var fault *ptxsim.Fault
	if !errors.As(r.d.Fault(), &fault) || fault.Kind != ptxsim.OutOfBounds || fault.Kernel != "add_to" {
		t.Fatalf("the fault is %v", r.d.Fault())
	}
	var at driver.DevicePtr
	r.want(r.t.MemAlloc(&at, 4), illegalAddress)
	r.want(r.t.MemFree(a), illegalAddress)
	// The process lives on: a new context is sound.
	r.ok(r.t.DevicePrimaryCtxRelease(0))
	var c driver.Context
	r.ok(r.t.DevicePrimaryCtxRetain(&c, 0))
	r.ok(r.t.MemAlloc(&at, 4))
	if r.d.Fault() != nil {
		t.Error("the fault outlived its context")
	}
}
