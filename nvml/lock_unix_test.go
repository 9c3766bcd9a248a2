//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the lock's place, which anybody may put there, is refused and not waited for.
func TestLockIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := syscall.Mkfifo(path, 0o444); err != nil {
		t.Fatal(err)
	}
	var refused *LockFileError
	if _, err := takeLock(path); !errors.As(err, &refused) || refused.Path != path || !strings.Contains(refused.Why, "regular") {
		t.Errorf("error %v, want that it is no lock", err)
	}
	// As one who may not write to it: without a writer such an opening waits for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|asItIs, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
