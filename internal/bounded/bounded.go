// Package bounded holds code that reads strangers' bytes to what it may take for them.
// For tests, the fuzz targets above all.
package bounded

import (
	"os"
	"runtime/metrics"
	"testing"
	"time"
)

// Bytes is what may be allocated for an input: Base and Each times its length.
type Bytes struct{ Base, Each uint64 }

// hangEnv names a duration beyond which a call counts as hanging. Times depend on the
// machine and on who else is on it: they are held only where somebody asks.
const hangEnv = "PADDOCK_FUZZ_HANG"

// attempts is how often f runs before it is found guilty: bytes are counted over the
// whole process, the fuzzer's own among them.
const attempts = 4

// Hold runs f, which reads an input of size bytes, and fails the test if it allocated
// more than may be or, where PADDOCK_FUZZ_HANG says how long, took longer. Where f
// takes too much it runs again, up to three times, and the least counts.
func Hold(t testing.TB, may Bytes, size int, f func()) {
	t.Helper()
	bytes, took := measure(f)
	limit := may.Base + may.Each*uint64(size)
	for try := 1; try < attempts && (bytes > limit || tooLong(t, took)); try++ {
		b, d := measure(f)
		bytes, took = min(bytes, b), min(took, d)
	}
	if bytes > limit {
		t.Fatalf("%d bytes allocated for an input of %d, at most %d + %d × its length = %d", bytes, size, may.Base, may.Each, limit)
	}
	if tooLong(t, took) {
		t.Fatalf("took %v for an input of %d bytes, more than %s", took, size, os.Getenv(hangEnv))
	}
}

func measure(f func()) (bytes uint64, took time.Duration) {
	start, before := time.Now(), allocated()
	f()
	return allocated() - before, time.Since(start)
}

func tooLong(t testing.TB, took time.Duration) bool {
	env := os.Getenv(hangEnv)
	if env == "" {
		return false
	}
	limit, err := time.ParseDuration(env)
	if err != nil {
		t.Fatalf("%s: %v", hangEnv, err)
	}
	return took > limit
}

// allocated is the number of bytes that the process has ever allocated.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
