package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verdict is what became of a fault: err is nil if its test turned red.
type verdict struct {
	err         error
	output      string        // of the compiler or the test
	build, test time.Duration // what each took
}

func (v verdict) String() string {
	if v.err != nil {
		return "NOT SHOWN: " + v.err.Error()
	}
	return fmt.Sprintf("red (build %.1f s, test %.1f s)", v.build.Seconds(), v.test.Seconds())
}

// put builds the test with the fault in it and runs it. Building and running are
// two commands, so that a fault that doesn't compile can't pass for one that was
// noticed.
func put(root string, m mutant) verdict {
	text, err := m.apply(root)
	if err != nil {
		return verdict{err: err}
	}
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return verdict{err: err}
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(root, filepath.FromSlash(m.file))
	faulty, overlay, binary := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "faulty.test")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: faulty}})
	if err != nil {
		return verdict{err: err}
	}
	if err := errors.Join(os.WriteFile(faulty, text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return verdict{err: err}
	}

	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+m.pkg)
	build.Dir = root
	start := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{err: fmt.Errorf("the fault doesn't compile: %w", err), output: string(out)}
	}
	built := time.Now()
	in := filepath.Join(root, filepath.FromSlash(m.pkg))
	args := []string{"-test.run", "^" + m.test + "$", "-test.short", "-test.timeout", "60s"}
	// A property that fails need not be made small, nor remembered in testdata.
	if rapid := []string{"-rapid.nofailfile", "-rapid.shrinktime=0s"}; runs(in, binary, append(rapid, "-test.run", "^$")...) == nil {
		args = append(args, rapid...)
	}
	test := exec.Command(binary, args...)
	test.Dir = in
	out, err := test.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		err = errors.New("there is no such test")
	case err == nil:
		err = errors.New("the test passes")
	case !strings.Contains(string(out), "--- FAIL: "+m.test):
		err = fmt.Errorf("the test did not fail, it broke off: %w", err)
	default:
		err = nil
	}
	return verdict{err, string(out), built.Sub(start), time.Since(built)}
}

// runs tells whether a command succeeds.
func runs(dir, binary string, args ...string) error {
	c := exec.Command(binary, args...)
	c.Dir = dir
	return c.Run()
}
