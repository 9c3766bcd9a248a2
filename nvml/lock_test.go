package nvml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLockHelper holds the lock for another test, in a process of its own, until its
// input ends.
func TestLockHelper(t *testing.T) {
	path := os.Getenv("PADDOCK_TEST_LOCK")
	if path == "" {
		return // it is the other process of TestLockOfAnotherProcess, and nothing by itself
	}
	l, err := takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("locked")
	var none [1]byte
	_, _ = os.Stdin.Read(none[:])
	if err := l.free(); err != nil {
		t.Fatal(err)
	}
}

// A second process reads "held by pid N"; a lock whose holder was killed is free.
func TestLockOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockHelper$")
	cmd.Env = append(os.Environ(), "PADDOCK_TEST_LOCK="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	n, err := out.Read(b)
	if err != nil || !strings.HasPrefix(string(b[:n]), "locked") {
		t.Fatalf("the other process says %q, %v", b[:n], err)
	}
	_, err = NewPoller(Options{LockPath: path, Library: []string{"libpaddock-none.so"}})
	var held *HeldError
	if !errors.As(err, &held) || held.PID != cmd.Process.Pid || !strings.Contains(err.Error(), fmt.Sprintf("held by pid %d", cmd.Process.Pid)) {
		t.Errorf("error %v, want held by pid %d", err, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	_ = cmd.Wait() // killed
	if b, err := os.ReadFile(path); err != nil || len(b) == 0 {
		t.Errorf("the killed process left %q, %v: the test wants its pid there", b, err)
	}
	l, err := takeLock(path)
	if err != nil {
		t.Fatalf("the lock of a process that was killed: %v", err)
	}
	if err := l.free(); err != nil {
		t.Fatal(err)
	}
}

func TestLockWithinAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := takeLock(path); !errors.As(err, &held) || held.PID != os.Getpid() || held.Path != path {
		t.Errorf("a second lock: %v", err)
	}
	if err := l.free(); err != nil {
		t.Fatal(err)
	}
	l, err = takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	// A file that says nothing, or the pid of one who is gone, names nobody.
	for _, text := range []string{"", "soon", "2147483646"} {
		if err := writePID(l.f, text); err != nil {
			t.Fatal(err)
		}
		if _, err := takeLock(path); !errors.As(err, &held) || held.PID != 0 {
			t.Errorf("held by one who wrote %q: %v", text, err)
		}
	}
	if err := l.free(); err != nil {
		t.Fatal(err)
	}
}

// Whoever makes the file makes it for every user; a link in its place is refused.
func TestLockFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights are the folder's there")
	}
	path := filepath.Join(t.TempDir(), "lock")
	l, err := takeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := l.free(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) > 0 {
		t.Errorf("a lock that is free says %q, %v", b, err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := takeLock(link); err == nil || errors.As(err, new(*HeldError)) {
		t.Errorf("a link was taken: %v", err)
	}
	if _, err := takeLock(filepath.Join(path, "below")); err == nil {
		t.Error("a lock below a file")
	}
	if p := lockPath(); !filepath.IsAbs(p) {
		t.Errorf("the machine's lock is %q", p)
	}
}

// A file that is something else is refused and left as it is; one of a holder that was
// killed is a lock.
func TestLockFileOfSomethingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for text, isLock := range map[string]bool{
		"": true, "4242": true, " 4242\n": true,
		"a diary": false, "4242 and a diary": false, strings.Repeat("1", pidMost+1): false, strings.Repeat(" ", pidMost) + "x": false, "\x00": false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := takeLock(path)
		if isLock {
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if err := l.free(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.As(err, new(*LockFileError)) {
			t.Errorf("%q: error %v, want that it is no lock", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
}
