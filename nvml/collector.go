package nvml

import "github.com/prometheus/client_golang/prometheus"

// Collector shows a poller's last reading as the paddock_gpu_ families. It never
// calls the library. A device is shown whole or not at all: not while it is lost or
// its sample stale. It belongs to one process of a machine, the one
// that polls.
type Collector struct {
	p     *Poller
	descs [len(families)]*prometheus.Desc
}

// NewCollector shows what p reads.
func NewCollector(p *Poller) prometheus.Collector {
	c := &Collector{p: p}
	for i := range families {
		f := &families[i]
		c.descs[i] = prometheus.NewDesc(f.name, f.help, f.labels(), nil)
	}
	return c
}

// Describe sends the families.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect sends what is known now.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	r := c.p.Latest()
	if r.Stale() {
		return
	}
	for i := range families {
		f := &families[i]
		for j := range r.Devices {
			d := &r.Devices[j]
			if !r.Current(j) {
				continue
			}
			f.values(d, func(v float64, own ...string) {
				to <- prometheus.MustNewConstMetric(c.descs[i], f.kind, v, append(d.ids(), own...)...)
			})
		}
	}
}
