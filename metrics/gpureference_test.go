package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/nvml"
)

const gpuHead = `
## GPUs

The manager alone has these: one process of a machine reads its devices (package ` + "`nvml`" + `), and it is not a runner, whose page never
has them. They come from the last sample, which a scrape doesn't wait for. A device is shown whole or not at all: not while it is lost, nor
when its last sample is older than ` + "%v" + `. What a device can't tell is absent. ` + "`gpu`" + ` is the driver's index and ` + "`uuid`" + ` the device's own id.

| family | type | labels | meaning | moved by |
| --- | --- | --- | --- | --- |
`

const gpuReasons = `
The reasons of ` + "`paddock_gpu_throttle_reasons`" + `: %s.
`

// gpuMarks are the lines that move the families, by their names.
var gpuMarks = map[string]mark{
	"paddock_gpu_info":                {"../nvml/device.go", "func (d *Device) identify"},
	"paddock_gpu_utilization_ratio":   {"../nvml/readings.go", "s.Utilization, s.MemoryUtilization ="},
	"paddock_gpu_memory_used_bytes":   {"../nvml/readings.go", "func readMemory("},
	"paddock_gpu_memory_total_bytes":  {"../nvml/readings.go", "func readMemory("},
	"paddock_gpu_temperature_celsius": {"../nvml/readings.go", "s.Temperature = some("},
	"paddock_gpu_power_watts":         {"../nvml/readings.go", "&s.Power)"},
	"paddock_gpu_power_limit_watts":   {"../nvml/readings.go", "d.lib.call.enforcedLimit, 1000, &s.PowerLimit)\nd.lib.call.managedLimit, 1000, &s.PowerLimit)"},
	"paddock_gpu_energy_joules_total": {"../nvml/totals.go", "t.energy.add("},
	"paddock_gpu_sm_clock_hertz":      {"../nvml/readings.go", "&s.SMClock)"},
	"paddock_gpu_memory_clock_hertz":  {"../nvml/readings.go", "&s.MemoryClock)"},
	"paddock_gpu_pcie_bytes_total":    {"../nvml/totals.go", "t.rx.add(\nt.tx.add(\nt.rx.sum +=\nt.tx.sum +="},
	"paddock_gpu_ecc_errors_total":    {"../nvml/totals.go", "t.corrected.add(\nt.uncorrected.add("},
	"paddock_gpu_fan_ratio":           {"../nvml/readings.go", "&s.Fan)"},
	"paddock_gpu_throttle_reasons":    {"../nvml/readings.go", "s.Throttle = some("},
}

// gpuReference is the part of METRICS.md on the families of another package, which
// this one doesn't import: only its test does.
func gpuReference(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, gpuHead, nvml.StaleAfter)
	for _, f := range nvml.Families() {
		m, ok := gpuMarks[f.Name]
		if !ok {
			t.Fatalf("no line is named that moves %s", f.Name)
		}
		name, kind := "`"+f.Name+"`", gauge
		if f.Counter {
			kind = counter
			name = "`" + strings.TrimSuffix(f.Name, "_total") + "` (`_total`)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, kind, labelList(strings.Join(f.Labels, ",")), f.Help, m.link(t))
	}
	fmt.Fprintf(&b, gpuReasons, "`"+strings.Join(nvml.ThrottleReasons(), "`, `")+"`")
	return b.String()
}

// A runner's page never has the families of devices.
func TestNoDeviceFamilies(t *testing.T) {
	for i := range table {
		if strings.HasPrefix(table[i].name, "paddock_gpu_") {
			t.Errorf("%s is in the table of a runner", table[i].name)
		}
	}
}
