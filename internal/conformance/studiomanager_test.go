package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// fakeGPUs builds the scripted library of the nvml tests, and returns a manager's flags
// and environment that read it; script writes what it answers from then on.
func fakeGPUs(t *testing.T) (flags, env []string, script func(string)) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("gcc is not on PATH; CI installs Debian's package gcc: %v", err)
		}
		t.Skip("gcc is not on PATH (Debian's package gcc has it): skipped")
	}
	dir := t.TempDir()
	library, file := filepath.Join(dir, "libnvidia-ml.so.1"), filepath.Join(dir, "script")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", library, filepath.Join("..", "..", "nvml", "testdata", "fake.c"), "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	script = func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--nvml-library", library, "--nvml-lock", filepath.Join(dir, "lock")}, []string{"PADDOCK_FAKE_NVML=" + file}, script
}

// startManager starts examples/manager and returns its address.
func startManager(t *testing.T, env []string, flags ...string) string {
	t.Helper()
	bin, err := managerProgram()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(bin, append([]string{"--addr", "127.0.0.1:0", "--probe", "off", "--data", t.TempDir(), "--log-level", "error"}, flags...)...)
	c.Env, c.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t, c)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), " on http://"); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return at
		}
	}
	t.Fatalf("the manager printed no address: %v", lines.Err())
	return ""
}

const cards = `devices 2
gpu 0 name NVIDIA H100 80GB HBM3
gpu 0 utilization 83 41
gpu 0 memory_used 61203283968
gpu 0 temperature %d
gpu 0 power_mw 512000
gpu 0 compute 4211 60129542144
gpu 0 compute 4388 1073741824
gpu 1 name NVIDIA H100 80GB HBM3
gpu 1 utilization 12 3
gpu 1 throttle 0x24
`

// reading waits until a card of the page reads a number.
func (b *tab) reading(card int, name string, want float64) {
	b.t.Helper()
	b.until(fmt.Sprintf("Number(document.querySelectorAll('.gpu')[%d]?.querySelector('[data-reading=%s] data')?.value) === %v", card, name, want))
}

// TestStudioManager: the manager's page has the GPUs as the library reads them, while
// they change, and its runners with all that a runner's own page shows, by the relay;
// a runner that was killed and started anew keeps its history, with the gap marked.
func TestStudioManager(t *testing.T) {
	chromium(t)
	gpuFlags, env, script := fakeGPUs(t)
	script(fmt.Sprintf(cards, 64))
	address := freeAddress(t)
	server := serverCommand(t, "--addr", address)
	startProcess(t, server)
	target := startManager(t, env, append([]string{"--runner", "http://" + address}, gpuFlags...)...)

	b := openTab(t, 1440, 1000, false)
	b.open("http://"+target+"/", "ready")
	studioTraffic(t, address, 4)
	b.until("studio.source.events.length === 12 && studio.source.current().requests.ended === 12")
	for name, want := range map[string]float64{"util": 83, "memory": 61203283968, "temp": 64, "power": 512, "sm": 1980, "mem": 2619} {
		b.reading(0, name, want)
	}
	b.reading(1, "util", 12)
	for i, words := range []string{"4211", "sw thermal"} {
		b.until(fmt.Sprintf("document.querySelectorAll('.gpu')[%d].textContent.includes(%q)", i, words))
	}
	script(fmt.Sprintf(cards, 71))
	b.reading(0, "temp", 71)
	b.ask(question)
	b.until("studio.source.events[0]['paddock.origin'] === 'studio'")
	b.until("document.querySelectorAll('#activity-body tbody tr').length === 13")
	eval[any](b, "document.activeElement.blur()")
	b.shoot("studio-manager-wide-light")

	// A card that falls off the bus says so; one that is back reads again.
	script(fmt.Sprintf(cards, 71) + "gpu 0 lost 1\n")
	b.until("document.querySelector('.gpu .trouble').textContent.includes(\"Can't be asked\")")
	script(fmt.Sprintf(cards, 70))
	b.reading(0, "temp", 70)
	if c := b.complaints(); len(c) != 0 {
		t.Errorf("the page complains of %q", c)
	}

	// The other forms; and the manager that reads no GPU, as another one does.
	second := startManager(t, env, append([]string{"--runner", "http://" + address}, gpuFlags...)...)
	for _, c := range []struct {
		name, target string
		width        int64
		dark         bool
		says         string
	}{
		{"studio-manager-wide-dark", target, 1440, true, "2 cards"},
		{"studio-manager-narrow-dark", target, 380, true, "2 cards"},
		{"studio-manager-narrow-light-held", second, 380, false, "held by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openTab(t, c.width, 900, c.dark)
			b.open("http://"+c.target+"/", "ready")
			b.until(fmt.Sprintf("document.getElementById('gpus').textContent.includes(%q) && studio.source.events.length > 10", c.says))
			if w := eval[int64](b, "document.documentElement.scrollWidth"); w > c.width {
				t.Errorf("the page is %d wide on a screen of %d: %s", w, c.width, eval[string](b, widest))
			}
			b.shoot(c.name)
			if c := b.complaints(); len(c) != 0 {
				t.Errorf("the page complains of %q", c)
			}
		})
	}

	// The runner is killed, and started anew. What the manager had read of it stays.
	ended := "studio.source.rollups.slots(studio.source.model, '', 0, studio.source.now()).reduce((n, s) => n + s.requests, 0)"
	b.run(chromedp.Click(chromedp.CSS("input[name=range][value=hour]")))
	b.until(ended + " === 13")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.state("down", "trying again")
	startProcess(t, serverCommand(t, "--addr", address))
	b.state("ready", "")
	studioTraffic(t, address, 1)
	b.until("studio.source.events.length === 3 && studio.source.current().requests.ended === 3")
	b.until(ended + " === 16 && studio.source.rollups.gaps.length > 0 && document.getElementById('throughput-note').textContent.includes('hatched')")
	b.shoot("studio-manager-history")
}
