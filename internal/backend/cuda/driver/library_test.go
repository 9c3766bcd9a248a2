package driver

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/paddock-go/paddock/internal/dl"
	"github.com/paddock-go/paddock/internal/race"
)

// fake is the library of testdata, as a driver and with what it lets tests do.
type fake struct {
	path    string
	calls   func() string
	reset   func()
	fail    func(name string, code int32)
	version func(int32)
}

func newFake(t *testing.T) *fake {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the library is built on Linux and macOS only")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the library with")
	}
	f := &fake{path: filepath.Join(t.TempDir(), "libfakecuda.so")}
	if text, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", f.path, "testdata/fakecuda.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	lib, err := dl.Open(f.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, fn := range map[string]any{"fake_calls": &f.calls, "fake_reset": &f.reset, "fake_fail": &f.fail, "fake_version": &f.version} {
		if err := lib.Bind(name, fn); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { lib.Close() })
	return f
}

func (f *fake) open(t *testing.T) *Driver {
	t.Helper()
	d, err := open([]string{"/nowhere/libcuda.so.1", f.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	f.reset()
	return d
}

// TestCalls calls every function through the real binding and compares what arrived
// in C, 64-bit values whole and in their places.
func TestCalls(t *testing.T) {
	f := newFake(t)
	d := f.open(t)
	c, err := d.Calls()
	if err != nil {
		t.Fatal(err)
	}
	const s, at, far = Stream(0x7500000001), DevicePtr(0x123456789abc), DevicePtr(0xfedcba987654)
	word, number := uint64(0x1122334455667788), int32(-5)
	params := []unsafe.Pointer{unsafe.Pointer(&word), unsafe.Pointer(&number)}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&word)
	pin.Pin(&number)
	pin.Pin(&params[0])
	host, err := d.AllocHost(40)
	if err != nil || len(host) != 40 {
		t.Fatalf("%d bytes, %v", len(host), err)
	}
	launch := &Launch{Function: 0x7300000001, Grid: [3]uint32{1 << 31, 2, 3}, Block: [3]uint32{4, 5, 6}, Shared: 99 << 10, Params: &params[0]}
	var want []string
	for _, x := range []struct {
		err  error
		want string
	}{
		{nil, "cuMemHostAlloc 40 0"},
		{d.SetCurrent(0x7100000028), "cuCtxSetCurrent 0x7100000028"},
		{second(d.Retain(41)), "cuDevicePrimaryCtxRetain 41"},
		{d.Release(41), "cuDevicePrimaryCtxRelease_v2 41"},
		{second(d.Function(0x7200000001, "a_kernel")), "cuModuleGetFunction 0x7200000001 a_kernel"},
		{second(d.FuncAttribute(0x7300000001, FuncShared)), "cuFuncGetAttribute 1 0x7300000001"},
		{d.SetFuncAttribute(0x7300000001, FuncMaxDynamic, 70000), "cuFuncSetAttribute 0x7300000001 8 70000"},
		{d.UnloadModule(0x7200000001), "cuModuleUnload 0x7200000001"},
		{second(d.Alloc(5 << 32)), "cuMemAlloc_v2 21474836480"},
		{d.Free(far), "cuMemFree_v2 fedcba987654"},
		{second(d.NewStream()), "cuStreamCreate 1"},
		{second(d.NewEvent(EventNoTiming)), "cuEventCreate 2"},
		{second(d.Elapsed(1, 2)), "cuEventElapsedTime 0x1 0x2"},
		{c.CopyIn(at, host, s), "cuMemcpyHtoDAsync_v2 123456789abc 1 40 0x7500000001"},
		{c.CopyOut(host, at, s), "cuMemcpyDtoHAsync_v2 1 123456789abc 40 0x7500000001"},
		{c.Copy(at, far, 6<<32, s), "cuMemcpyDtoDAsync_v2 123456789abc fedcba987654 25769803776 0x7500000001"},
		{c.Fill(at, 9, 7<<32, s), "cuMemsetD8Async 123456789abc 9 30064771072 0x7500000001"},
		{c.Launch(launch, s), "cuLaunchKernel 0x7300000001 2147483648 2 3 4 5 6 101376 0x7500000001 1122334455667788 -5 (nil)"},
		{d.BeginCapture(s), "cuStreamBeginCapture_v2 0x7500000001 1"},
		{second(d.EndCapture(s)), "cuStreamEndCapture 0x7500000001"},
		{second(d.Instantiate(0x7600000001)), "cuGraphInstantiateWithFlags 0x7600000001 0"},
		{c.LaunchGraph(0x7800000001, s), "cuGraphLaunch 0x7800000001 0x7500000001"},
		{c.Record(0x7700000001, s), "cuEventRecord 0x7700000001 0x7500000001"},
		{c.WaitEvent(0x7700000001), "cuEventSynchronize 0x7700000001"},
		{c.Wait(s), "cuStreamSynchronize 0x7500000001"},
		{d.CloseExec(0x7800000001), "cuGraphExecDestroy 0x7800000001"},
		{d.CloseGraph(0x7600000001), "cuGraphDestroy 0x7600000001"},
		{d.CloseEvent(0x7700000001), "cuEventDestroy_v2 0x7700000001"},
		{d.CloseStream(s), "cuStreamDestroy_v2 0x7500000001"},
		{d.FreeHost(host), "cuMemFreeHost 1"},
	} {
		want = append(want, x.want)
		if x.err != nil {
			t.Errorf("%s: %v", x.want, x.err)
		}
	}
	if got := strings.Split(strings.TrimSpace(f.calls()), "\n"); !slices.Equal(got, want) {
		t.Errorf("the calls were\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := testing.AllocsPerRun(20, func() {
		c.CopyIn(at, host, s)
		c.Launch(launch, s)
		c.LaunchGraph(0x7800000001, s)
		c.Record(0x7700000001, s)
		c.WaitEvent(0x7700000001)
		f.reset()
	}); !race.Enabled && n != resetAllocs(f) { // with the race detector pools forget
		t.Errorf("the calls of a step allocate %v times", n-resetAllocs(f))
	}
}

// resetAllocs is what reset itself allocates: it is bound with reflection.
func resetAllocs(f *fake) float64 { return testing.AllocsPerRun(20, f.reset) }

func second[T any](_ T, err error) error { return err }

func TestFacts(t *testing.T) {
	d := newFake(t).open(t)
	n, err := d.Count()
	if n != 2 || err != nil {
		t.Errorf("%d devices, %v", n, err)
	}
	facts, err := d.Facts(1)
	want := Facts{Device: 41, Name: "Fake 41", UUID: "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1", Major: 75041, Minor: 76041, Multiprocessors: 16041,
		MaxThreads: 1041, MaxBlock: [3]int{2041, 3041, 4041}, MaxGrid: [3]int{5041, 6041, 7041}, MaxShared: 97041, Memory: 0x2300000029, SharesSystemMemory: true}
	if err != nil || facts != want {
		t.Errorf("got %+v, %v, want %+v", facts, err, want)
	}
	free, all, err := d.MemInfo()
	if free != 0x1100000000 || all != 0x2200000000 || err != nil {
		t.Errorf("%x of %x are free, %v", free, all, err)
	}
}

func TestErrors(t *testing.T) {
	f := newFake(t)
	d := f.open(t)
	f.fail("cuMemAlloc_v2", 2)
	_, err := d.Alloc(1)
	if !IsOutOfMemory(err) || !strings.Contains(err.Error(), "cuMemAlloc_v2: error 2 (CUDA_ERROR_OUT_OF_MEMORY: out of memory)") {
		t.Errorf("got %v", err)
	}
	f.fail("cuEventDestroy_v2", 719)
	if err := d.CloseEvent(1); err == nil || IsOutOfMemory(err) || err.Error() != "cuda: cuEventDestroy_v2: error 719" {
		t.Errorf("a code without a name: %v", err)
	}
	if m, log, err := d.LoadModule([]byte("text")); m != 0x7200000001 || log != "a remark" || err != nil {
		t.Errorf("module %x, log %q, %v", m, log, err)
	}
	f.fail("cuModuleLoadDataEx", 218)
	var e *Error
	if _, _, err := d.LoadModule([]byte("text")); !errors.As(err, &e) || e.Code != InvalidPTX || e.Log != "line 3: a fault" || !strings.Contains(err.Error(), e.Log) {
		t.Errorf("a module that does not compile: %v", err)
	}
}

// TestOpenGoesOn: a candidate that does not start, or is too old, is not the last one.
func TestOpenGoesOn(t *testing.T) {
	f := newFake(t)
	f.version(11030)
	_, err := open([]string{f.path})
	var old *VersionError
	var absent *AbsentError
	if !errors.As(err, &old) || !errors.As(err, &absent) || !strings.Contains(err.Error(), "CUDA 11.3, at least 11.4") {
		t.Errorf("an old driver: %v", err)
	}
	f.version(12040)
	f.fail("cuInit", 100)
	var e *Error
	if _, err := open([]string{f.path, "/nowhere/libcuda.so"}); !errors.As(err, &e) || e.Call != "cuInit" || e.Code != NoDevice {
		t.Errorf("a driver without a device: %v", err)
	}
	f.fail("", 0)
	other := newFake(t)
	other.fail("cuInit", 999)
	d, err := open([]string{other.path, f.path})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != f.path {
		t.Errorf("the driver is %s, want the second", d.Name())
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
