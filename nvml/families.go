package nvml

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is one of the families that a Collector shows.
type Family struct {
	Name    string // as on the classic page: a counter's ends in _total
	Counter bool   // else a gauge
	Labels  []string
	Help    string
}

// Families are all that a Collector shows, for references and dashboards.
func Families() []Family {
	out := make([]Family, len(families))
	for i := range families {
		f := &families[i]
		out[i] = Family{f.name, f.kind == prometheus.CounterValue, f.labels(), f.help}
	}
	return out
}

// family is a row of the table: what it is, and its values of a device, each with its
// own label's value where it has one.
type family struct {
	name   string
	kind   prometheus.ValueType
	own    []string // labels beside gpu and uuid
	help   string
	values func(d *DeviceReading, emit func(v float64, own ...string))
}

func (f *family) labels() []string { return append([]string{"gpu", "uuid"}, f.own...) }

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var families = [...]family{
	{"paddock_gpu_info", gauge, []string{"name", "pci_bus_id", "driver_version", "cuda_version", "compute_capability", "memory", "mig"},
		"Name and kind of a GPU, always 1. memory is device, or unified where it is the system's; mig is on or off; a card in MIG mode is shown whole. Absent, as all families of the GPU, while it is lost or its last sample is older than 10 s.",
		func(d *DeviceReading, emit func(float64, ...string)) {
			i := &d.Info
			emit(1, i.Name, i.PCI, i.Driver, i.CUDA, i.Compute, choose(i.Unified, "unified", "device"), choose(i.MIG, "on", "off"))
		}},
	{"paddock_gpu_utilization_ratio", gauge, nil,
		"Share of the last sampling period of the driver in which a kernel ran on the GPU, from 0 to 1.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.Utilization })},
	{"paddock_gpu_memory_used_bytes", gauge, nil,
		"Memory in use on the GPU, in bytes; of the system where it is unified. What the driver keeps for itself is not counted where it tells the two apart.",
		one(func(d *DeviceReading) Opt[float64] { return asFloat(d.Sample.MemoryUsed) })},
	{"paddock_gpu_memory_total_bytes", gauge, nil,
		"Memory of the GPU, in bytes; of the system where it is unified.",
		one(func(d *DeviceReading) Opt[float64] { return asFloat(d.Sample.MemoryTotal) })},
	{"paddock_gpu_temperature_celsius", gauge, nil,
		"Temperature of the GPU, in degrees Celsius.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.Temperature })},
	{"paddock_gpu_power_watts", gauge, nil,
		"Power that the GPU draws, in watts.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.Power })},
	{"paddock_gpu_power_limit_watts", gauge, nil,
		"Power limit in force, in watts.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.PowerLimit })},
	{"paddock_gpu_energy_joules_total", counter, nil,
		"Energy that the GPU used since the driver was loaded, in joules. Goes on where a driver that is loaded anew starts from 0.",
		one(func(d *DeviceReading) Opt[float64] { return d.Totals.Energy })},
	{"paddock_gpu_sm_clock_hertz", gauge, nil,
		"Clock of the streaming multiprocessors, in hertz.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.SMClock })},
	{"paddock_gpu_memory_clock_hertz", gauge, nil,
		"Clock of the memory, in hertz.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.MemoryClock })},
	{"paddock_gpu_pcie_bytes_total", counter, []string{"direction"},
		"Bytes over PCIe, by direction: rx is what the GPU received. The GPU's own count where it has one; else an estimate from 0 at the start: rates measured over 20 ms every 2 s, each taken for the time since the one before, 4 s at most.",
		func(d *DeviceReading, emit func(float64, ...string)) {
			each(emit, d.Totals.PCIeRx, "rx")
			each(emit, d.Totals.PCIeTx, "tx")
		}},
	{"paddock_gpu_ecc_errors_total", counter, []string{"kind"},
		"Errors of the GPU's memory that ECC found, by kind: over the GPU's life, or since the driver was loaded where it keeps no such count.",
		func(d *DeviceReading, emit func(float64, ...string)) {
			each(emit, d.Totals.ECCCorrected, "corrected")
			each(emit, d.Totals.ECCUncorrected, "uncorrected")
		}},
	{"paddock_gpu_fan_ratio", gauge, nil,
		"Share of its full speed at which the fan is meant to turn; may exceed 1.",
		one(func(d *DeviceReading) Opt[float64] { return d.Sample.Fan })},
	{"paddock_gpu_throttle_reasons", gauge, []string{"reason"},
		"Whether the clocks are below their highest for this reason: 1, else 0. Several may hold at once; gpu_idle is no fault.",
		func(d *DeviceReading, emit func(float64, ...string)) {
			if t, ok := d.Sample.Throttle.Get(); ok {
				for i, name := range ThrottleReasons() {
					emit(choose(t.has(i), 1.0, 0), name)
				}
			}
		}},
}

// one is for a family of one value.
func one(value func(*DeviceReading) Opt[float64]) func(*DeviceReading, func(float64, ...string)) {
	return func(d *DeviceReading, emit func(float64, ...string)) { each(emit, value(d)) }
}

// each emits a value that is there.
func each(emit func(float64, ...string), v Opt[float64], own ...string) {
	if v.OK {
		emit(v.V, own...)
	}
}

func choose[T any](b bool, yes, no T) T {
	if b {
		return yes
	}
	return no
}

// ids are the values of the labels that every family has.
func (d *DeviceReading) ids() []string { return []string{strconv.Itoa(d.Info.Index), d.Info.UUID} }
