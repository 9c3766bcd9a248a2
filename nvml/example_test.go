package nvml_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/paddock-go/paddock/nvml"
)

// A machine without a driver is no special case: there are no GPUs, and the error says
// what was tried.
func Example() {
	lib, err := nvml.Open(nvml.Options{Library: []string{"/nowhere/libnvidia-ml.so.1"}})
	if open := (*nvml.OpenError)(nil); errors.As(err, &open) {
		fmt.Println("no GPU:", open.Tried[0].Library, "could not be loaded")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lib.Close()
	for _, d := range lib.Devices() {
		if s, err := d.Sample(); err == nil && s.Temperature.OK {
			fmt.Println(d.Info().Name, s.Temperature.V, "°C")
		}
	}
	// Output: no GPU: /nowhere/libnvidia-ml.so.1 could not be loaded
}

// The one process of a machine that polls, with a page for Prometheus.
func ExampleNewPoller() {
	p, err := nvml.NewPoller(nvml.Options{})
	if held := (*nvml.HeldError)(nil); errors.As(err, &held) {
		fmt.Println("another process has the GPUs:", held.PID)
		return
	}
	if err != nil {
		fmt.Println("no GPU:", err)
		return
	}
	defer p.Close()
	r := prometheus.NewRegistry()
	r.MustRegister(nvml.NewCollector(p))
	http.Handle("/metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))

	readings, stop := p.Watch()
	defer stop()
	for r := range readings {
		for _, d := range r.Devices {
			fmt.Println(d.Info.Name, d.Sample.Power.V, "W")
		}
	}
}
