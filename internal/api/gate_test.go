package api

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/prog"
)

// gate is a device whose steps wait for the test, and that can fail.
type gate struct {
	engine.Device
	steps  chan struct{} // a step takes one value; closed: it is open for good
	broken atomic.Bool   // the next step fails
}

// openGated serves the embedded model on a device whose steps wait.
func openGated(t *testing.T, o engine.Options) (*engine.Engine, *gate) {
	t.Helper()
	g := &gate{Device: cpu.New(cpu.Options{}), steps: make(chan struct{}, 1<<20)}
	t.Cleanup(func() { g.Device.Close() })
	o.Devices = []engine.Device{g}
	e := open(t, o)
	t.Cleanup(func() { close(g.steps) }) // before the engine is closed
	return e, g
}

// pass lets n more steps through.
func (g *gate) pass(n int) {
	for range n {
		g.steps <- struct{}{}
	}
}

func (g *gate) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	m, err := g.Device.Load(p, src, progress)
	return gateModel{m, g}, err
}

type gateModel struct {
	backend.Model
	g *gate
}

func (m gateModel) NewRunner(l backend.Limits) (backend.Runner, error) {
	r, err := m.Model.NewRunner(l)
	return gateRunner{r, m.g}, err
}

type gateRunner struct {
	backend.Runner
	g *gate
}

var errGate = errors.New("the test broke the device")

func (r gateRunner) Run(b *prog.Batch, logits []float32) error {
	<-r.g.steps
	if r.g.broken.Load() {
		return errGate
	}
	return r.Runner.Run(b, logits)
}
