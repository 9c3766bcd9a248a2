package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/paddock-go/paddock/nvml"
)

// poller is what the manager wants of *nvml.Poller.
type poller interface {
	Latest() nvml.Reading
	Watch() (<-chan nvml.Reading, func())
	Close() error
}

// gpus is the machine's GPUs: read by this process, by another one, or by none, and it may change which.
type gpus struct {
	log   *slog.Logger
	open  func() (poller, error)
	grace time.Duration // for an opening that is under way at the end

	mu     sync.Mutex
	poller poller // nil: the GPUs aren't read here
	reason string // why
	opened chan struct{}
	pages  [numGPUPages]prometheus.Gatherer
}

// What a page shows of the GPUs.
const (
	pageOwn  = iota // paddock_gpu_*
	pageDCGM        // DCGM_FI_*
	numGPUPages
)

// openEvery is how often it is tried again: a driver may be loaded, and another process may end.
const openEvery = 10 * time.Second

// openGrace is long for a library that works. One that doesn't answer ends with the process, and its lock too.
const openGrace = 500 * time.Millisecond

func newGPUs(c *config, log *slog.Logger) *gpus {
	o := nvml.Options{LockPath: c.lock, Logger: log}
	if c.nvmlFile != "" {
		o.Library = []string{c.nvmlFile}
	}
	return &gpus{log: log, grace: openGrace, opened: make(chan struct{}), reason: "the GPUs are being looked for", open: func() (poller, error) {
		p, err := nvml.NewPoller(o)
		if err != nil {
			return nil, err
		}
		return p, nil
	}}
}

// keep opens the library, and tries again until it is open or ctx ends. What stands in the way is logged once.
func (g *gpus) keep(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for said := ""; ; {
		p, err := g.openUntil(ctx)
		if err == nil {
			g.use(p)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if held := (*nvml.HeldError)(nil); said != err.Error() {
			if said = err.Error(); errors.As(err, &held) {
				g.log.Warn("another process reads the GPUs; all else works", "error", err)
			} else {
				g.log.Info("no GPU can be read; all else works", "reason", err)
			}
		}
		g.mu.Lock()
		g.reason = err.Error()
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// openUntil opens the library, and is back at the end of ctx however long that takes: what comes afterwards is closed.
func (g *gpus) openUntil(ctx context.Context) (poller, error) {
	var p poller
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = g.open()
	}()
	select {
	case <-done:
		return p, err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return p, err
	case <-time.After(g.grace):
	}
	go func() {
		if <-done; err == nil {
			g.closePoller(p)
		}
	}()
	return nil, context.Cause(ctx)
}

func (g *gpus) use(p poller) {
	own, dcgm := prometheus.NewRegistry(), prometheus.NewRegistry()
	if real, ok := p.(*nvml.Poller); ok {
		own.MustRegister(nvml.NewCollector(real))
	}
	dcgm.MustRegister(newDCGM(p))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.poller, g.pages = p, [...]prometheus.Gatherer{pageOwn: own, pageDCGM: dcgm}
	close(g.opened)
}

func (g *gpus) close() {
	g.mu.Lock()
	p := g.poller
	g.mu.Unlock()
	if p != nil {
		g.closePoller(p)
	}
}

func (g *gpus) closePoller(p poller) {
	if err := p.Close(); err != nil {
		g.log.Warn("the GPUs' library", "error", err)
	}
}

// gatherer shows the GPUs on a page, nothing while they aren't read. It never asks the library.
func (g *gpus) gatherer(page int) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		g.mu.Lock()
		from := g.pages[page]
		g.mu.Unlock()
		if from == nil {
			return nil, nil
		}
		return from.Gather()
	})
}

// gpuAnswer is the answer to GET /api/gpu.
type gpuAnswer struct {
	Available bool      `json:"available"`
	Reason    string    `json:"reason,omitempty"` // why not
	TS        int64     `json:"ts"`               // of the reading, Unix milliseconds; without one, now
	GPUs      []gpuInfo `json:"gpus"`
}

// gpuInfo is one GPU. A sensor that it hasn't is null.
type gpuInfo struct {
	Index      int       `json:"index"`
	Name       string    `json:"name"`
	UUID       string    `json:"uuid"`
	PCI        *string   `json:"pci"`
	Lost       string    `json:"lost,omitempty"` // why it can't be asked, or says nothing; then its sensors are null
	UtilGPU    *float64  `json:"util_gpu"`       // percent
	UtilMem    *float64  `json:"util_mem"`       // percent
	MemUsed    *uint64   `json:"mem_used"`       // bytes
	MemTotal   *uint64   `json:"mem_total"`
	Unified    bool      `json:"unified,omitempty"` // its memory is the machine's
	TempC      *float64  `json:"temp_c"`
	PowerW     *float64  `json:"power_w"`
	PowerLimit *float64  `json:"power_limit_w"`
	SMClock    *float64  `json:"sm_clock_mhz"`
	MemClock   *float64  `json:"mem_clock_mhz"`
	Fan        *float64  `json:"fan_pct"`
	Throttle   []string  `json:"throttle,omitempty"` // why its clocks are low
	Procs      []gpuProc `json:"procs,omitempty"`
}

type gpuProc struct {
	PID int     `json:"pid"`
	Mem *uint64 `json:"mem"` // bytes
}

// now is the answer now, and the poller to go on with; nil: there is none yet.
func (g *gpus) now() (gpuAnswer, poller) {
	g.mu.Lock()
	p, reason := g.poller, g.reason
	g.mu.Unlock()
	if p == nil {
		return gpuAnswer{Reason: reason, TS: time.Now().UnixMilli(), GPUs: []gpuInfo{}}, nil
	}
	return answerOf(p.Latest()), p
}

func answerOf(r nvml.Reading) gpuAnswer {
	a := gpuAnswer{Available: true, TS: r.Time.UnixMilli(), GPUs: []gpuInfo{}}
	switch {
	case r.Err != nil:
		a.Available, a.Reason = false, r.Err.Error()
	case r.Stale():
		a.Available, a.Reason = false, "the newest sample of a GPU is "+r.Age.Round(time.Second).String()+" old: the driver's library is slow, or doesn't answer"
	}
	if r.Time.IsZero() {
		a.TS = time.Now().UnixMilli()
	}
	for i := range r.Devices {
		info := infoOf(&r.Devices[i], a.Available && r.Current(i))
		if a.Available && info.Lost == "" && !r.Current(i) {
			info.Lost = "it was not sampled yet"
			if age, ok := r.SampleAge(i); ok {
				info.Lost = "its last sample is " + age.Round(time.Second).String() + " old"
			}
		}
		a.GPUs = append(a.GPUs, info)
	}
	return a
}

func infoOf(d *nvml.DeviceReading, current bool) gpuInfo {
	g := gpuInfo{Index: d.Info.Index, Name: d.Info.Name, UUID: d.Info.UUID, Unified: d.Info.Unified}
	if d.Info.PCI != "" {
		g.PCI = &d.Info.PCI
	}
	if d.Lost != nil {
		g.Lost = d.Lost.Error()
	}
	if d.Lost != nil || !current {
		return g
	}
	s := &d.Sample
	g.UtilGPU, g.UtilMem = times(s.Utilization, 100), times(s.MemoryUtilization, 100)
	g.MemUsed, g.MemTotal = known(s.MemoryUsed), known(s.MemoryTotal)
	g.TempC, g.PowerW, g.PowerLimit = known(s.Temperature), known(s.Power), known(s.PowerLimit)
	g.SMClock, g.MemClock, g.Fan = times(s.SMClock, 1e-6), times(s.MemoryClock, 1e-6), times(s.Fan, 100)
	if s.Throttle.OK {
		g.Throttle = s.Throttle.V.Names()
	}
	for _, p := range s.Processes.V {
		g.Procs = append(g.Procs, gpuProc{p.PID, known(p.Memory)})
	}
	return g
}

func known[T any](o nvml.Opt[T]) *T {
	if !o.OK {
		return nil
	}
	return &o.V
}

// times is a value in another unit, rounded to what no sensor exceeds.
func times(o nvml.Opt[float64], by float64) *float64 {
	if !o.OK {
		return nil
	}
	return new(roundTo(o.V*by, 1e3))
}
