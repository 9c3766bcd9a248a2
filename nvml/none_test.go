package nvml

import (
	"errors"
	"path/filepath"
	"testing"
)

// Where there is no library, that is an ordinary error, and the lock is free again.
func TestNoLibrary(t *testing.T) {
	o := Options{Library: []string{"libpaddock-none.so.1", "/nowhere/libnvidia-ml.so"}, LockPath: filepath.Join(t.TempDir(), "lock")}
	for range 2 {
		_, err := NewPoller(o)
		var open *OpenError
		if !errors.As(err, &open) || len(open.Tried) != 2 {
			t.Fatalf("error %v, want an OpenError of two attempts", err)
		}
		for i, a := range open.Tried {
			if a.Library != o.Library[i] || a.Err == nil {
				t.Errorf("attempt %d: %q, %v", i, a.Library, a.Err)
			}
		}
	}
	if _, err := Open(o); !errors.As(err, new(*OpenError)) {
		t.Errorf("Open: %v", err)
	}
}
