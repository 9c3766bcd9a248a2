package fakedriver

import (
	"errors"
	"fmt"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
)

type taskKind uint8

const (
	launch taskKind = iota
	copyIn
	copyOut
	copyWithin
	set
	record  // of an event
	waitFor // an event
	replay  // of an instantiated graph
)

// task is a piece of work in a stream or a graph.
type task struct {
	kind     taskKind
	value    uint8
	fails    driver.Result // by a script, when it runs
	to, from uint64
	bytes    uint64
	host     []byte // pinned
	fn       *function
	grid     [3]uint32
	block    [3]uint32
	shared   uint32
	params   []byte // as they were at the call
	event    *event
	seq      uint64 // which record of the event
	on       *stream
	sum      uint64 // of a copy's source, at the call
	checked  bool   // there is a sum
	exec     *graphExec
}

// What work takes on the fake's clock, in milliseconds: nothing like a card, but more
// work takes longer, and equal work takes equally long.
const (
	launchTime   = 0.002
	blockTime    = 0.0001
	copyTime     = 0.001
	copyByteTime = 1e-9
)

// run does a piece of work. What goes wrong ends the context.
func (d *Driver) run(t *task) driver.Result {
	if t.fails != driver.Success {
		return d.fail(t.fails, fmt.Errorf("scripted: work fails with %d", t.fails))
	}
	switch t.kind {
	case launch:
		*t.fn.runs++
		d.clock += launchTime + blockTime*float64(uint64(t.grid[0])*uint64(t.grid[1])*uint64(t.grid[2]))
		if d.opts.NoExecute {
			return driver.Success
		}
		if err := d.mem.launch(t); err != nil {
			return d.fail(faultCode(err), err)
		}
		return driver.Success
	case record:
		t.event.done, t.event.at = t.seq, d.clock
		return driver.Success
	case waitFor:
		return d.await(t.event, t.seq, t.on)
	case replay:
		for i := range t.exec.tasks {
			if r := d.run(&t.exec.tasks[i]); r != driver.Success {
				return r
			}
		}
		return driver.Success
	}
	if !t.unchanged() {
		return d.fail(driver.LaunchFailure, errChanged)
	}
	d.clock += copyTime + copyByteTime*float64(max(t.bytes, uint64(len(t.host))))
	if err := d.mem.move(t); err != nil {
		return d.fail(illegalAddress, err)
	}
	return driver.Success
}

// faultCodes are what a card makes of the interpreter's faults; of what it would let
// pass, the fake makes a failed launch.
var faultCodes = map[ptxsim.FaultKind]driver.Result{
	ptxsim.OutOfBounds: illegalAddress,
	ptxsim.Misaligned:  misalignedAddress,
}

func faultCode(err error) driver.Result {
	var f *ptxsim.Fault
	if errors.As(err, &f) {
		if code, ok := faultCodes[f.Kind]; ok {
			return code
		}
	}
	return driver.LaunchFailure
}
