package cpu

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// maxThreads bounds Options.Threads: more workers than any machine has cores
// only cost memory.
const maxThreads = 512

// Options choose how much of the machine is used. The zero value uses all of
// it that the process may have.
type Options struct {
	// Threads is the number of workers of a runner, the caller of Run being one;
	// 0: the processors this process may run on when New is called, less by the quotas
	// of its control groups.
	Threads int
	// Level pins the kernels to a set of instructions, for tests and
	// comparisons; nil: the best that this machine has. No level changes a bit.
	Level *kern.Level
	// NoAMX keeps the process from asking for the permission to use tiles, and
	// the tile unit idle, whatever Level says.
	NoAMX bool
	// Profile, if not nil, is filled by the steps of the last runner made.
	Profile *Profile
	// PanelCache is a folder in which the panels of GGUF files are kept, one file for
	// each model's path, as large as its weights in memory; "": none. A model whose
	// panels are there is mapped and not packed; else they are written while it is used,
	// and given up if the model is closed and 5 s more were too few. Files .panels-*.tmp
	// of writers that were killed are removed. Only Linux has it. Who can write there
	// decides what a model computes, as who can write the model file does.
	PanelCache string
	// Logger is told when a cache is not used, or can't be written; nil: nobody.
	Logger *slog.Logger
}

// Device is the CPU backend. Its methods are safe for concurrent use.
type Device struct {
	kern    *kern.Kernels                // of vectors
	amx     bool                         // ask for tiles when a model has a use for them
	tiled   atomic.Pointer[kern.Kernels] // once one has
	threads int
	profile *Profile
	panels  string // folder of the panel cache
	log     *slog.Logger
}

// New returns the CPU backend. It panics where the machine lacks the level that
// the options pin: ask kern.Supported. Safe for concurrent use.
func New(o Options) *Device {
	level := kern.Best()
	if o.Level != nil {
		level = *o.Level
	}
	amx := level == kern.AMX
	if amx {
		level = kern.AVX512VNNI
	}
	threads := o.Threads
	if threads <= 0 {
		threads = defaultThreads()
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Device{
		kern: kern.New(level), amx: amx && !o.NoAMX, threads: min(threads, maxThreads), profile: o.Profile,
		panels: o.PanelCache, log: log,
	}
}

// Name implements backend.Device: the set of instructions belongs to it. That of
// tiles does once a model has a use for them.
func (d *Device) Name() string {
	k := d.kern
	if t := d.tiled.Load(); t != nil {
		k = t
	}
	return "cpu/" + k.Level().String()
}

// kernels are those for a model of these weights. Only for one that has a use
// for tiles is the process's permission to use them asked for: it is for good.
func (d *Device) kernels(weights []weight) *kern.Kernels {
	if !d.amx || !slices.ContainsFunc(weights, func(w weight) bool {
		parts := w.parts()
		return len(parts) > 0 && parts[0].Format.UsesTiles()
	}) {
		return d.kern
	}
	k := kern.New(kern.AMX)
	d.tiled.Store(k)
	return k
}

// Threads is the number of workers of a runner, its caller included.
func (d *Device) Threads() int { return d.threads }

// Close implements backend.Device; models and runners hold all there is to
// give back.
func (d *Device) Close() error { return nil }

// Load implements backend.Device.
func (d *Device) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	l := &loader{prog: p, src: src, progress: progress, workers: d.threads, kern: d.kern, panelDir: d.panels, log: d.log}
	weights, err := l.load()
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	m := &model{device: d, kernels: d.kernels(weights), prog: p, weights: weights, memory: l.memory}
	m.bytes, m.cached = l.bytes, l.cached
	if l.cached == cacheMiss {
		m.keep(l.cache, src)
	}
	return m, nil
}

// defaultThreads is what the process may use, at least one. GOMAXPROCS is not
// asked: a server sets it higher, so that its own goroutines find a processor
// beside the workers.
func defaultThreads() int {
	n := runtime.NumCPU()
	if bound, ok := affinity(); ok {
		n = bound
	}
	if quota, ok := cpuQuota(); ok {
		n = min(n, int(quota))
	}
	return max(n, 1)
}
