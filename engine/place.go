package engine

import (
	"errors"
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// placed is a program on the device that will run it.
type placed struct {
	device Device
	plan   backend.Plan
	room   *room
	why    string // it is this one
}

// place finds the first of the devices that can run a program and has the memory for
// it. What keeps the others from it is in the reason, or in the error.
func (e *Engine) place(o Options, p *prog.Program, src backend.Source) (*placed, error) {
	var errs []error
	for _, d := range o.Devices {
		at, err := e.placeOn(d, o, p, src)
		if err == nil {
			at.why = "Options.Devices"
			if len(errs) > 0 {
				at.why = fmt.Sprintf("Options.Devices, after %v", errors.Join(errs...))
			}
			return at, nil
		}
		if len(o.Devices) > 1 {
			err = fmt.Errorf("%s: %w", d.Name(), err)
		}
		errs = append(errs, err)
	}
	if len(errs) == 1 {
		return nil, errs[0]
	}
	return nil, errors.Join(errs...)
}

func (e *Engine) placeOn(d Device, o Options, p *prog.Program, src backend.Source) (*placed, error) {
	plan, err := d.Plan(p, src)
	if err != nil {
		return nil, err
	}
	if m, ok := d.(backend.Memory); ok {
		s, ok := d.(backend.SharedMemory)
		shared := ok && s.SharesSystemMemory()
		o.ownMemory = !shared
		if shared {
			o.available = lesser(m.Memory, (&Options{available: o.available}).memory)
		} else if o.available == nil {
			o.available = m.Memory
		}
	}
	r, err := e.plan(o, plan, plan.LoadBytes())
	if err != nil {
		return nil, err
	}
	if err := r.limits.Check(p); err != nil {
		return nil, err
	}
	if c, ok := plan.(backend.LimitChecker); ok {
		if err := c.CheckLimits(r.limits); err != nil {
			return nil, err
		}
	}
	return &placed{device: d, plan: plan, room: r}, nil
}

// lesser is the smaller of two answers to what is available, of those that are known.
func lesser(a, b func() (int64, bool)) func() (int64, bool) {
	return func() (int64, bool) {
		x, known := a()
		y, also := b()
		if !known || also && y < x {
			return y, also
		}
		return x, known
	}
}
