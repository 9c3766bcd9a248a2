package cpu_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
)

// peakOver is how much more than the weights a load may hold at a time.
const peakOver = 64 << 20

// TestLoadPeak: while a file is packed no more is resident than what was before, the
// panels and 64 MiB, in a process of its own; when panels are mapped, no memory of
// the process's own is taken for them.
func TestLoadPeak(t *testing.T) {
	if path := os.Getenv("PADDOCK_PEAK_FILE"); path != "" {
		loadPeak(t, path)
		return
	}
	path, dir := synthetic(t, "135m", "Q8_0"), t.TempDir()
	for i, mapped := range []bool{false, true} {
		child := exec.Command(os.Args[0], "-test.run=^TestLoadPeak$", "-test.v")
		child.Env = append(os.Environ(), "PADDOCK_PEAK_FILE="+path, "PADDOCK_PEAK_PANELS="+dir)
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, line, _ := bytes.Cut(out, []byte("peak: "))
		var weights, peak, own int64
		if _, err := fmt.Sscan(string(line), &weights, &peak, &own); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		t.Logf("load %d: weights %d, at most resident beside what was before %d, of the process's own %d", i, weights, peak, own)
		if weights < 100<<20 {
			t.Errorf("weights of %d bytes show little", weights)
		}
		if peak > weights+peakOver {
			t.Errorf("load %d held %d bytes at a time, the weights take %d: more than %d above", i, peak, weights, peakOver)
		}
		if mapped && own > peakOver {
			t.Errorf("with its panels mapped the process has %d bytes of its own", own)
		}
	}
}

// loadPeak is the child's part.
func loadPeak(t *testing.T, path string) {
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lowered, err := model.Lower(f, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak so far is forgotten
		t.Skip(err)
	}
	before, own := statusOf(t, "VmRSS:"), statusOf(t, "RssAnon:")
	m, err := cpu.New(cpu.Options{Threads: 2, PanelCache: os.Getenv("PADDOCK_PEAK_PANELS")}).Load(lowered.Program, model.NewSource(f), nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("peak: %d %d %d\n", m.WeightBytes(), statusOf(t, "VmHWM:")-before, statusOf(t, "RssAnon:")-own)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// statusOf is a line of the process's status, in bytes.
func statusOf(t *testing.T, name string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Skipf("the system does not tell %s", name)
	return 0
}
