package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paddock-go/paddock/nvml"
)

// dcgm shows the GPUs as dcgm-exporter does, for dashboards and tools that read its names and labels. The units are its own: MiB, MHz,
// millijoules, per cent. What the driver doesn't tell without DCGM itself (SM activity, tensor pipes) is absent, as there.
type dcgm struct {
	p     poller
	host  string
	descs []*prometheus.Desc
}

// dcgmLabels are in dcgm-exporter's order.
var dcgmLabels = []string{"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"}

// dcgmFamilies are the fields that a sample has. Counters have no _total there.
var dcgmFamilies = []struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*nvml.Sample) nvml.Opt[float64]
}{
	{"DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.SMClock, 1e-6) }},
	{"DCGM_FI_DEV_MEM_CLOCK", "Memory clock frequency (in MHz).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.MemoryClock, 1e-6) }},
	{"DCGM_FI_DEV_GPU_TEMP", "Temperature of the GPU (in C).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return s.Temperature }},
	{"DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return s.Power }},
	{"DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit in force (in W).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return s.PowerLimit }},
	{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "Energy used since the driver was loaded (in mJ).", prometheus.CounterValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.Energy, 1e3) }},
	{"DCGM_FI_DEV_GPU_UTIL", "Share of the time in which a kernel ran (in %).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.Utilization, 100) }},
	{"DCGM_FI_DEV_MEM_COPY_UTIL", "Share of the time in which memory was read or written (in %).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.MemoryUtilization, 100) }},
	{"DCGM_FI_DEV_FB_FREE", "Free memory (in MiB).", prometheus.GaugeValue, func(s *nvml.Sample) nvml.Opt[float64] {
		return nvml.Opt[float64]{V: float64(s.MemoryFree.V) / (1 << 20), OK: s.MemoryFree.OK}
	}},
	{"DCGM_FI_DEV_FB_USED", "Used memory (in MiB).", prometheus.GaugeValue, func(s *nvml.Sample) nvml.Opt[float64] {
		return nvml.Opt[float64]{V: float64(s.MemoryUsed.V) / (1 << 20), OK: s.MemoryUsed.OK}
	}},
	{"DCGM_FI_DEV_FAN_SPEED", "Intended fan speed (in %).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return scaled(s.Fan, 100) }},
	{"DCGM_FI_PROF_PCIE_TX_BYTES", "Bytes sent over PCIe (in B/s).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return s.PCIeTx }},
	{"DCGM_FI_PROF_PCIE_RX_BYTES", "Bytes received over PCIe (in B/s).", prometheus.GaugeValue,
		func(s *nvml.Sample) nvml.Opt[float64] { return s.PCIeRx }},
}

func scaled(o nvml.Opt[float64], by float64) nvml.Opt[float64] {
	return nvml.Opt[float64]{V: roundTo(o.V*by, 1e6), OK: o.OK}
}

func newDCGM(p poller) *dcgm {
	d := &dcgm{p: p}
	host, _ := os.Hostname() // without one the label is empty
	d.host = strings.ToValidUTF8(host, "\uFFFD")
	for _, f := range dcgmFamilies {
		d.descs = append(d.descs, prometheus.NewDesc(f.name, f.help, dcgmLabels, nil))
	}
	return d
}

// Describe implements prometheus.Collector.
func (d *dcgm) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range d.descs {
		to <- desc
	}
}

// Collect implements prometheus.Collector. It never asks the library.
func (d *dcgm) Collect(to chan<- prometheus.Metric) {
	r := d.p.Latest()
	if r.Stale() || r.Err != nil {
		return
	}
	for i := range r.Devices {
		dev := &r.Devices[i]
		if !r.Current(i) {
			continue
		}
		n := strconv.Itoa(dev.Info.Index)
		labels := []string{n, dev.Info.UUID, dev.Info.PCI, "nvidia" + n, dev.Info.Name, d.host, dev.Info.Driver}
		for j, f := range dcgmFamilies {
			if v := f.value(&dev.Sample); v.OK {
				to <- prometheus.MustNewConstMetric(d.descs[j], f.kind, v.V, labels...)
			}
		}
	}
}
