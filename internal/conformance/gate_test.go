package conformance

import (
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/prog"
)

// gate is a device whose steps wait until it is opened.
type gate struct {
	engine.Device
	open chan struct{}
}

// newGate is closed at first; a test that has not opened it by its end does then.
func newGate(t *testing.T) *gate {
	g := &gate{cpu.New(cpu.Options{}), make(chan struct{})}
	t.Cleanup(func() { g.Device.Close() })
	return g
}

func (g *gate) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	m, err := g.Device.Load(p, src, progress)
	return gatedModel{m, g}, err
}

type gatedModel struct {
	backend.Model
	g *gate
}

func (m gatedModel) NewRunner(l backend.Limits) (backend.Runner, error) {
	r, err := m.Model.NewRunner(l)
	return gatedRunner{r, m.g}, err
}

type gatedRunner struct {
	backend.Runner
	g *gate
}

func (r gatedRunner) Run(b *prog.Batch, logits []float32) error {
	<-r.g.open
	return r.Runner.Run(b, logits)
}
