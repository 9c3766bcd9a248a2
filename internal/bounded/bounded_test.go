package bounded

import (
	"runtime"
	"testing"
	"time"
)

// failure is a test that notes that it failed.
type failure struct {
	testing.TB
	failed bool
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

// fails tells whether Hold fails f.
func fails(may Bytes, size int, f func()) bool {
	t := &failure{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Hold(t, may, size, f)
	}()
	<-done
	return t.failed
}

var kept []byte

func TestHold(t *testing.T) {
	take := func(n int) func() { return func() { kept = make([]byte, n) } }
	may := Bytes{Base: 64 << 10, Each: 10}
	if fails(may, 1<<20, take(8<<20)) {
		t.Error("8 MiB for 1 MiB at 10 a byte fails")
	}
	if !fails(may, 1<<20, take(12<<20)) {
		t.Error("12 MiB for 1 MiB at 10 a byte passes")
	}
	t.Setenv(hangEnv, "1ms")
	if !fails(may, 1, func() { time.Sleep(5 * time.Millisecond) }) {
		t.Error("5 ms pass for 1 ms")
	}
	t.Setenv(hangEnv, "1h")
	if fails(may, 1, func() {}) {
		t.Error("nothing takes an hour")
	}
}
