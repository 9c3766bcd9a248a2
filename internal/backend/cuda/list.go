package cuda

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// list is the launches of a bucket, ready for the driver.
type list struct {
	launches []driver.Launch
	graph    driver.GraphExec // 0: not captured
	used     uint64           // the step that used it last
	pinner   runtime.Pinner   // holds the arguments in place
}

// newList makes the launches of all ops. It runs with a context current.
func newList(ops []op, b bucket, k *kernels, unfused bool) (*list, error) {
	l := &list{}
	var all []args
	for _, x := range stepLaunches(ops, b, unfused) {
		f, err := k.prepare(&x)
		if err != nil {
			return nil, err
		}
		l.launches = append(l.launches, driver.Launch{Function: f, Grid: x.grid, Block: x.block, Shared: x.shared})
		all = append(all, x.args)
	}
	l.arguments(all)
	return l, nil
}

// arguments lays out what the driver takes arguments as: a pointer to each. They lie
// as aligned as their parameters, and stay where they are.
//
//	params   │ p p p │ p p │ p p p p │     a launch's first is in its Params
//	           ▼ ▼ ▼   ▼ ▼
//	words    │ a,b,c │ a,b │ …
func (l *list) arguments(all []args) {
	words, params := 0, 0
	for _, a := range all {
		words, params = words+(len(a.data)+7)/8, params+len(a.offsets)
	}
	if params == 0 {
		return
	}
	values, pointers := make([]uint64, words), make([]unsafe.Pointer, params)
	l.pinner.Pin(&values[0])
	l.pinner.Pin(&pointers[0])
	for i, a := range all {
		if len(a.offsets) == 0 {
			continue
		}
		n := (len(a.data) + 7) / 8
		data := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 8*n)
		copy(data, a.data)
		for j, at := range a.offsets {
			pointers[j] = unsafe.Pointer(&data[at])
		}
		l.launches[i].Params = &pointers[0]
		values, pointers = values[n:], pointers[len(a.offsets):]
	}
}

// launch starts all kernels one by one.
func (l *list) launch(c *driver.Calls, s driver.Stream) error {
	for i := range l.launches {
		if err := c.Launch(&l.launches[i], s); err != nil {
			return err
		}
	}
	return nil
}

// capture makes a graph of the launches, if the driver has the memory for it: after
// out of memory it tries again while room finds something to let go of, then goes
// without.
func (l *list) capture(d *driver.Driver, c *driver.Calls, s driver.Stream, room func() (bool, error)) error {
	if err := d.BeginCapture(s); err != nil {
		return err
	}
	err := l.launch(c, s)
	g, e := d.EndCapture(s)
	if e != nil { // a capture that stays open would forbid all that follows on the stream, giving back too
		if late, again := d.EndCapture(s); again == nil {
			g = late
		}
	}
	if err = errors.Join(err, e); err == nil {
		l.graph, err = d.Instantiate(g)
		for again := true; driver.IsOutOfMemory(err) && again; {
			var e error
			if again, e = room(); e != nil {
				err = e
			} else if again {
				l.graph, err = d.Instantiate(g)
			}
		}
	}
	if driver.IsOutOfMemory(err) {
		l.graph, err = 0, nil
	}
	if g != 0 {
		err = errors.Join(err, d.CloseGraph(g))
	}
	return err
}

// close gives the graph back and lets the arguments go.
func (l *list) close(d *driver.Driver) error {
	l.pinner.Unpin()
	return l.ungraph(d)
}

// ungraph gives the graph back; the launches stay.
func (l *list) ungraph(d *driver.Driver) error {
	g := l.graph
	if l.graph = 0; g == 0 {
		return nil
	}
	return d.CloseExec(g)
}
