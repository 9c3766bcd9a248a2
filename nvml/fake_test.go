package nvml

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/dl"
)

// fake is testdata/fake.c as a library of its own, with its own state and script.
type fake struct {
	t       testing.TB
	lib     *dl.Library
	path    string // of the library
	script  string // of its script
	calls   func(name string) uint64
	threads func() uint64
}

// builds are the variants of the library that were built, by what they lack.
var builds struct {
	sync.Mutex
	dir  string
	made map[string][]byte
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builds.dir != "" {
		_ = os.RemoveAll(builds.dir)
	}
	os.Exit(code)
}

// newFake gives a library that lacks some symbols, with a script of these lines.
func newFake(t testing.TB, script string, lacks ...string) *fake {
	t.Helper()
	dir := t.TempDir()
	f := &fake{t: t, path: filepath.Join(dir, "libnvidia-ml.so.1"), script: filepath.Join(dir, "script")}
	if err := os.WriteFile(f.path, build(t, lacks), 0o755); err != nil {
		t.Fatal(err)
	}
	f.say(script)
	var err error
	if f.lib, err = dl.Open(f.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.lib.Close(); err != nil {
			t.Error(err)
		}
	})
	var set func(string)
	if err := errors.Join(f.lib.Bind("fake_script", &set), f.lib.Bind("fake_calls", &f.calls), f.lib.Bind("fake_threads", &f.threads)); err != nil {
		t.Fatal(err)
	}
	set(f.script)
	return f
}

func build(t testing.TB, lacks []string) []byte {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the library for tests is built on Linux")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the library for tests with")
	}
	builds.Lock()
	defer builds.Unlock()
	key := strings.Join(lacks, " ")
	if b := builds.made[key]; b != nil {
		return b
	}
	if builds.dir == "" {
		if builds.dir, err = os.MkdirTemp("", "nvml"); err != nil {
			t.Fatal(err)
		}
		builds.made = map[string][]byte{}
	}
	out := filepath.Join(builds.dir, "fake.so")
	args := []string{"-shared", "-fPIC", "-O1", "-pthread", "-o", out, filepath.Join("testdata", "fake.c")}
	for _, l := range lacks {
		args = append(args, "-D"+l+"=absent_"+l)
	}
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	builds.made[key] = b
	return b
}

// say changes the script, at once for the library.
func (f *fake) say(script string) {
	f.t.Helper()
	next := f.script + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(script), 0o644), os.Rename(next, f.script)); err != nil {
		f.t.Fatal(err)
	}
}

// hold gives a line of a script that holds the calls of a function back, and what
// lets them go.
func (f *fake) hold(function string) (line string, release func()) {
	f.t.Helper()
	path := filepath.Join(filepath.Dir(f.path), "hold."+function)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		f.t.Fatal(err)
	}
	return "hold " + function + " " + path + "\n", func() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			f.t.Error(err)
		}
	}
}

// await waits until a function was called once more than before.
func (f *fake) await(function string, before uint64) {
	for f.calls(function) == before {
		time.Sleep(time.Millisecond)
	}
}

// options are those of a poller on this library, with a lock of its own.
func (f *fake) options() Options {
	return Options{Library: []string{f.path}, LockPath: filepath.Join(filepath.Dir(f.path), "lock"), Logger: slog.New(slog.DiscardHandler)}
}

// open opens the library as a program that looks once does.
func (f *fake) open() *Library {
	f.t.Helper()
	l, err := Open(f.options())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return l
}

// device is the only device.
func (f *fake) device() *Device {
	f.t.Helper()
	ds := f.open().Devices()
	if len(ds) != 1 {
		f.t.Fatalf("%d devices, want one", len(ds))
	}
	return ds[0]
}

func (f *fake) sample(d *Device) Sample {
	f.t.Helper()
	s, err := d.Sample()
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}
