package nvml

import (
	"bytes"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
)

const collected = `# HELP paddock_gpu_energy_joules_total Energy that the GPU used since the driver was loaded, in joules. Goes on where a driver that is loaded anew starts from 0.
# TYPE paddock_gpu_energy_joules_total counter
paddock_gpu_energy_joules_total{gpu="0",uuid="GPU-fake-0"} 1000
paddock_gpu_energy_joules_total{gpu="2",uuid="GPU-fake-2"} 1000
# HELP paddock_gpu_fan_ratio Share of its full speed at which the fan is meant to turn; may exceed 1.
# TYPE paddock_gpu_fan_ratio gauge
paddock_gpu_fan_ratio{gpu="2",uuid="GPU-fake-2"} 0.3
# HELP paddock_gpu_temperature_celsius Temperature of the GPU, in degrees Celsius.
# TYPE paddock_gpu_temperature_celsius gauge
paddock_gpu_temperature_celsius{gpu="0",uuid="GPU-fake-0"} 61
paddock_gpu_temperature_celsius{gpu="2",uuid="GPU-fake-2"} 63
`

// pageOf gathers a collector's page, of the families of these names or of all, and
// holds it against the registry's strict checks.
func pageOf(t testing.TB, c prometheus.Collector, names ...string) (text string, samples int) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	page, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, mf := range page {
		if len(names) > 0 && !slices.Contains(names, mf.GetName()) {
			continue
		}
		for _, m := range mf.Metric {
			samples++
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", mf.GetName(), v)
			}
		}
		if _, err := expfmt.MetricFamilyToText(&b, mf); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), samples
}

// count is the number of samples on a page.
func count(t testing.TB, c prometheus.Collector, names ...string) int {
	t.Helper()
	_, n := pageOf(t, c, names...)
	return n
}

// A device is shown whole or, while it is lost, not at all; a value that it can't tell
// is absent.
func TestCollector(t *testing.T) {
	f := newFake(t, "devices 3\ngpu 0 temperature 61\ngpu 1 lost 1\ngpu 2 temperature 63\ngpu 2 fan 30\ngpu 0 name odd \xff name\n")
	p, c := f.poll(f.options())
	collector := NewCollector(p)
	if got, _ := pageOf(t, collector, "paddock_gpu_temperature_celsius", "paddock_gpu_fan_ratio", "paddock_gpu_energy_joules_total"); got != collected {
		t.Errorf("page\n%s\nwant\n%s", got, collected)
	}
	if n := count(t, collector, "paddock_gpu_info"); n != 2 {
		t.Errorf("%d devices are shown, want two of three", n)
	}
	if n, want := count(t, collector, "paddock_gpu_throttle_reasons"), 2*len(ThrottleReasons()); n != want {
		t.Errorf("%d reasons, want %d", n, want)
	}
	// A scrape calls nothing.
	before := f.calls("*")
	count(t, collector)
	if n := f.calls("*"); n != before {
		t.Errorf("a scrape made %d calls of the library", n-before)
	}
	f.say("return nvmlDeviceGetUtilizationRates 18\n")
	c.turn(t)
	if n := count(t, collector); n != 0 {
		t.Errorf("%d values while the library is gone", n)
	}
}

// Every family of the table, of a device that tells everything: all there, no NaN, and
// promtool has nothing to say.
func TestPage(t *testing.T) {
	f := newFake(t, "gpu 0 fan 30\ngpu 0 mig 0\n")
	p, c := f.poll(f.options())
	c.turn(t)
	text, _ := pageOf(t, NewCollector(p))
	if n := strings.Count(text, "# TYPE "); n != len(families) {
		t.Errorf("%d families on the page, %d in the table", n, len(families))
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool to check the page with")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s\n%s", err, out, text)
	}
}

func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Families() {
		if seen[f.Name] || !strings.HasPrefix(f.Name, "paddock_gpu_") || f.Counter != strings.HasSuffix(f.Name, "_total") || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("family %+v", f)
		}
		seen[f.Name] = true
	}
	for _, name := range strings.Fields("utilization_ratio memory_used_bytes memory_total_bytes temperature_celsius power_watts power_limit_watts energy_joules_total sm_clock_hertz memory_clock_hertz pcie_bytes_total ecc_errors_total fan_ratio throttle_reasons info") {
		if !seen["paddock_gpu_"+name] {
			t.Errorf("the contract's paddock_gpu_%s is not there", name)
		}
	}
	if len(seen) != 14 {
		t.Errorf("%d families, the contract has 14", len(seen))
	}
}
