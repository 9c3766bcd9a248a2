package dl

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// sample builds and opens testdata/sample.c.
func sample(t testing.TB) *Library {
	t.Helper()
	l, err := Open(build(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func build(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the sample library is built on Linux and macOS only")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the sample library with")
	}
	out := filepath.Join(t.TempDir(), "libsample.so")
	if text, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", out, "testdata/sample.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	return out
}

func TestOpenSaysWhatItTried(t *testing.T) {
	_, err := Open("libpaddock-none.so.1", "", "/nowhere/libpaddock-none.so")
	var open *OpenError
	if !errors.As(err, &open) || len(open.Tried) != 3 {
		t.Fatalf("error %v, want one of three attempts", err)
	}
	for i, name := range []string{"libpaddock-none.so.1", "", "/nowhere/libpaddock-none.so"} {
		if a := open.Tried[i]; a.Name != name || a.Err == nil {
			t.Errorf("attempt %d: %q, %v", i, a.Name, a.Err)
		}
		if !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%q does not name %q", err, name)
		}
	}
	if _, err := Open(); !errors.As(err, &open) || len(open.Tried) != 0 {
		t.Errorf("no candidate: %v", err)
	}
}

func TestOpenTakesTheFirstThatLoads(t *testing.T) {
	path := build(t)
	l, err := Open("libpaddock-none.so.1", path, "/nowhere/libpaddock-none.so")
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != path {
		t.Errorf("name %q, want %q", l.Name(), path)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestLookupIsExact(t *testing.T) {
	l := sample(t)
	if fn, err := l.Lookup("sample_sum"); err != nil || fn == 0 {
		t.Errorf("lookup: %#x, %v", fn, err)
	}
	untouched := func() int32 { return 5 }
	for _, name := range []string{"sample_sum_v2", "sample_su", "Sample_sum"} {
		var symbol *SymbolError
		if _, err := l.Lookup(name); !errors.As(err, &symbol) || symbol.Symbol != name || symbol.Library != l.Name() {
			t.Errorf("lookup of %s: %v", name, err)
		}
		if err := l.Bind(name, &untouched); !errors.As(err, &symbol) {
			t.Errorf("bind of %s: %v", name, err)
		}
	}
	if untouched() != 5 {
		t.Error("a failed bind changed the func")
	}
}

func TestBind(t *testing.T) {
	l := sample(t)
	var negative func() int32
	var sum func(uint32, *uint64, string) uint64
	if err := errors.Join(l.Bind("sample_negative", &negative), l.Bind("sample_sum", &sum)); err != nil {
		t.Fatal(err)
	}
	b := uint64(1) << 40
	if got := negative(); got != -7 {
		t.Errorf("negative: %d", got)
	}
	if got, want := sum(3, &b, "four"), uint64(3+1<<40+4); got != want {
		t.Errorf("sum: %d, want %d", got, want)
	}
}

func TestCallPassesEachArgument(t *testing.T) {
	l := sample(t)
	fn, err := l.Lookup("sample_twelve")
	if err != nil {
		t.Fatal(err)
	}
	var c Caller
	for at := range uintptr(MaxArgs) {
		var a [MaxArgs]uintptr
		a[at] = 1 << 30
		if got, want := c.Call12(fn, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]), (at+1)<<30; got != want {
			t.Errorf("argument %d: %#x, want %#x", at, got, want)
		}
	}
}

func TestCallOfInt(t *testing.T) {
	l := sample(t)
	fn, err := l.Lookup("sample_negative")
	if err != nil {
		t.Fatal(err)
	}
	var c Caller
	if got := int32(c.Call4(fn, 0, 0, 0, 0)); got != -7 {
		t.Errorf("negative: %d", got)
	}
}

// A pointer written in the call keeps its variable alive and in place.
func TestCallWithPointer(t *testing.T) {
	l := sample(t)
	fn, err := l.Lookup("sample_store")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			var c Caller
			for i := range uint64(200) {
				var v uint64
				c.Call4(fn, uintptr(unsafe.Pointer(&v)), uintptr(g<<32|i), 0, 0)
				if i%50 == 0 {
					runtime.GC()
				}
				if v != g<<32|i {
					t.Errorf("stored %#x, want %#x", v, g<<32|i)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestCallAllocatesNothing(t *testing.T) {
	l := sample(t)
	fn, err := l.Lookup("sample_twelve")
	if err != nil {
		t.Fatal(err)
	}
	store, err := l.Lookup("sample_store")
	if err != nil {
		t.Fatal(err)
	}
	var c Caller
	var total uintptr
	kept := new(uint64)
	n := testing.AllocsPerRun(1000, func() {
		total += c.Call12(fn, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		total += c.Call4(store, uintptr(unsafe.Pointer(kept)), total, 0, 0)
	})
	if n != 0 {
		t.Errorf("%v allocations in two calls", n)
	}
}

func BenchmarkCall(b *testing.B) {
	l := sample(b)
	fn, err := l.Lookup("sample_twelve")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("raw", func(b *testing.B) {
		var c Caller
		b.ReportAllocs()
		for b.Loop() {
			c.Call12(fn, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0)
		}
	})
	b.Run("typed", func(b *testing.B) {
		var f func(a, b, c, d, e uint64) uint64
		if err := l.Bind("sample_twelve", &f); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			f(1, 2, 3, 4, 5)
		}
	})
}
