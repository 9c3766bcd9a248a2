package fakedriver

import (
	"slices"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// graph is what a capture recorded.
type graph struct{ tasks []task }

// graphExec is a graph made ready. It holds its work with the arguments as they were
// when it was captured.
type graphExec struct{ tasks []task }

func (d *Driver) graphInstantiate(exec *driver.GraphExec, g driver.Graph, flags uint64) driver.Result {
	if r := d.enter(cuGraphInstantiate); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	from := d.graphs[g]
	if exec == nil || from == nil || flags != 0 {
		return driver.InvalidValue
	}
	if !d.mem.take(ofGraph) {
		return driver.OutOfMemory
	}
	x := &graphExec{tasks: slices.Clone(from.tasks)}
	for i := range x.tasks {
		x.tasks[i].params = slices.Clone(x.tasks[i].params)
	}
	*exec = driver.GraphExec(d.handle())
	d.execs[*exec] = x
	return driver.Success
}

func (d *Driver) graphLaunch(exec driver.GraphExec, st driver.Stream) driver.Result {
	if r := d.enter(cuGraphLaunch); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	x := d.execs[exec]
	if x == nil {
		return driver.InvalidValue
	}
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	if s.capture != nil {
		return d.spoil(s.capture, captureUnsupported) // a real one makes a child graph; the backend has none
	}
	t := d.put(s, cuGraphLaunch)
	t.kind, t.exec = replay, x
	return d.placed(s)
}

// graphExecDestroy: launches that are queued are still done.
func (d *Driver) graphExecDestroy(exec driver.GraphExec) driver.Result {
	if r := d.enter(cuGraphExecDestroy); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if d.execs[exec] == nil {
		return driver.InvalidValue
	}
	delete(d.execs, exec)
	d.mem.giveBack(ofGraph)
	return driver.Success
}

func (d *Driver) graphDestroy(g driver.Graph) driver.Result {
	if r := d.enter(cuGraphDestroy); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if d.graphs[g] == nil {
		return driver.InvalidValue
	}
	delete(d.graphs, g)
	return driver.Success
}

// Nodes is how many pieces of work each instantiated graph has, the largest first.
func (d *Driver) Nodes() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []int
	for _, x := range d.execs {
		out = append(out, len(x.tasks))
	}
	slices.SortFunc(out, func(a, b int) int { return b - a })
	return out
}
