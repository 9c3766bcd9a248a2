package engine

import (
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// waitTaken waits until so many sequences are in the scheduler or on their way to
// it, while no step runs.
func waitTaken(e *Engine, sequences uint64) {
	for {
		taken := e.Stats().Admitted // first: what is admitted has left the inbox
		e.inbox.mu.Lock()
		for _, c := range e.inbox.commands {
			if c.kind == cmdAdd {
				taken += uint64(len(c.job.choices))
			}
		}
		e.inbox.mu.Unlock()
		if taken >= sequences {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// gatedDevice is a device with a gate before its steps.
type gatedDevice struct {
	Device
	closed atomic.Bool   // steps wait for the gate
	gate   chan struct{} // closed: it is open for good
}

func (d *gatedDevice) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	m, err := d.Device.Load(p, src, progress)
	return gatedModel{m, d}, err
}

type gatedModel struct {
	backend.Model
	d *gatedDevice
}

func (m gatedModel) NewRunner(l backend.Limits) (backend.Runner, error) {
	r, err := m.Model.NewRunner(l)
	return gatedRunner{r, m.d}, err
}

type gatedRunner struct {
	backend.Runner
	d *gatedDevice
}

func (r gatedRunner) Run(b *prog.Batch, logits []float32) error {
	if r.d.closed.Load() {
		<-r.d.gate
	}
	return r.Runner.Run(b, logits)
}
