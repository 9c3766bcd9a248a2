package cuda

import (
	"errors"
	"math"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// runner hands its work to an owner, on a goroutine locked to a thread on which the
// device's context is current. One goroutine uses it at a time.
type runner struct {
	model  *model
	limits backend.Limits
	owner  *owner
	jobs   chan job
	done   chan error
	closed bool
}

// job is work for the owner: a step, pages to be copied, or a row of the last step's
// logits.
type job struct {
	batch  *prog.Batch
	logits []float32 // of the whole step, or of row
	temps  []float32
	picks  []backend.Pick // nil: logits are wanted
	copies []backend.PageCopy
	row    int
}

func newRunner(m *model, l backend.Limits) (*runner, error) {
	r := &runner{model: m, limits: l, owner: &owner{model: m, limits: l}, jobs: make(chan job), done: make(chan error)}
	go r.serve()
	if err := <-r.done; err != nil {
		return nil, err
	}
	return r, nil
}

// serve is the owner's goroutine. It answers once when the runner's memory is there,
// or can't be had, once to each job, and once when all is given back.
func (r *runner) serve() {
	err := r.model.device.use(func() error {
		o := r.owner
		if err := o.open(); err != nil {
			return errors.Join(err, o.close())
		}
		r.done <- nil
		for j := range r.jobs {
			r.done <- o.do(j)
		}
		return o.close()
	})
	r.done <- err
}

// CopyPages implements backend.Runner. An error of it is the next Run's.
func (r *runner) CopyPages(copies []backend.PageCopy) {
	if r.closed || len(copies) == 0 {
		return
	}
	r.jobs <- job{copies: copies}
	<-r.done
}

// Run implements backend.Runner. An error of the device ends the runner: every later
// Run answers with it.
func (r *runner) Run(b *prog.Batch, logits []float32) error {
	if r.closed {
		return errClosed
	}
	if err := backend.CheckBatch(r.model.prog, r.limits, b, logits); err != nil {
		return err
	}
	r.jobs <- job{batch: b, logits: logits}
	return <-r.done
}

// Pick implements backend.Picker.
func (r *runner) Pick(b *prog.Batch, temperatures []float32, picks []backend.Pick) error {
	if r.closed {
		return errClosed
	}
	if err := backend.CheckPick(r.model.prog, r.limits, b, temperatures, picks); err != nil {
		return err
	}
	n := len(b.Logits)
	r.jobs <- job{batch: b, temps: temperatures[:n], picks: picks[:n:n]}
	return <-r.done
}

// Row implements backend.Picker.
func (r *runner) Row(i int, logits []float32) error {
	if r.closed {
		return errClosed
	}
	if i < 0 || i >= r.limits.LogitRows {
		return &backend.LimitError{What: "row of logits", Got: int64(i), Low: 0, High: int64(r.limits.LogitRows) - 1}
	}
	if width := r.model.prog.OutWidth(); len(logits) < width {
		return &backend.LimitError{What: "logits of a row", Got: int64(len(logits)), Low: int64(width), High: math.MaxInt}
	}
	r.jobs <- job{logits: logits, row: i}
	return <-r.done
}

// Close implements backend.Runner: it gives back what the runner has on the device,
// behind all that is under way there: a kernel that hangs blocks it, and a Run, for
// good. A second call does nothing.
func (r *runner) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.jobs)
	return errors.Join(<-r.done, r.model.drop())
}
