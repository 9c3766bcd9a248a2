package fakedriver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/dl"
)

// Driver is a fake driver with its card. Its functions are called through Library;
// the methods here are the tests' own. All are safe for concurrent use.
type Driver struct {
	mu       sync.Mutex
	opts     Options
	card     Card
	started  bool
	counts   [callCount]int64
	launches map[string]*int64 // runs of each kernel
	texts    map[string][]byte // C strings that were handed out
	script   []Failure

	retained int // shares in the primary context
	current  map[int]driver.Context
	handles  uintptr // the last one given
	sticky   driver.Result
	fault    error
	clock    float64 // milliseconds of work done
	rng      *rand.Rand

	mem      memory
	pinned   []pinnedRange
	modules  map[driver.Module]*module
	funcs    map[driver.Function]*function
	streams  map[driver.Stream]*stream
	order    []*stream // streams in the order of their making, and those given back that have work left
	events   map[driver.Event]*event
	graphs   map[driver.Graph]*graph
	execs    map[driver.GraphExec]*graphExec
	captures []*capture
}

// New makes a driver.
func New(o Options) *Driver {
	if o.Version == 0 {
		o.Version = 12040
	}
	return &Driver{opts: o, card: o.card(), rng: o.draw(), texts: map[string][]byte{}, current: map[int]driver.Context{}, launches: map[string]*int64{}}
}

// Library is the driver as package driver wants it.
func (d *Driver) Library() driver.Library { return &library{d: d, functions: d.functions()} }

// library binds functions by name.
type library struct {
	d         *Driver
	functions map[string]any
	closed    atomic.Bool
}

func (l *library) Name() string { return "libcuda.so.1 (fake)" }

func (l *library) Bind(symbol string, fn any) error {
	f, ok := l.functions[symbol]
	if !ok || slices.Contains(l.d.opts.Without, symbol) {
		return &dl.SymbolError{Library: l.Name(), Symbol: symbol}
	}
	to, from := reflect.ValueOf(fn), reflect.ValueOf(f)
	if to.Kind() != reflect.Pointer || to.Elem().Type() != from.Type() {
		return fmt.Errorf("fakedriver: %s is bound to a %v, its own type is %v", symbol, to.Type(), from.Type())
	}
	to.Elem().Set(from)
	return nil
}

func (l *library) Close() error {
	if l.closed.Swap(true) {
		return errors.New("fakedriver: the library is closed twice")
	}
	return nil
}

// Calls is how often each function was called since the last ResetCalls.
func (d *Driver) Calls() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]int64{}
	for i, n := range d.counts {
		if n > 0 {
			out[calls[i].name] = n
		}
	}
	return out
}

// CallCount is how many calls there were since the last ResetCalls. It allocates
// nothing.
func (d *Driver) CallCount() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum int64
	for _, n := range d.counts {
		sum += n
	}
	return sum
}

// Launches is how often each kernel was run since the last ResetCalls, by graphs too.
func (d *Driver) Launches() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]int64{}
	for name, n := range d.launches {
		if *n > 0 {
			out[name] = *n
		}
	}
	return out
}

// ResetCalls counts from zero again.
func (d *Driver) ResetCalls() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts = [callCount]int64{}
	for _, n := range d.launches {
		*n = 0
	}
}

// Fault is what ended the context: a *ptxsim.Fault for a kernel that broke a rule, or
// what a script said; nil while it is sound.
func (d *Driver) Fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// Live lists what was made and not given back, one line each; shares of the primary
// context too. After an orderly end it is empty.
func (d *Driver) Live() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	add := func(n int, what string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d × %s", n, what))
		}
	}
	add(d.retained, "primary context")
	add(len(d.mem.blocks), "device memory")
	add(len(d.pinned), "pinned memory")
	add(len(d.modules), "module")
	add(len(d.streams), "stream")
	add(len(d.events), "event")
	add(len(d.graphs), "graph")
	add(len(d.execs), "instantiated graph")
	return out
}

// handle is a new handle: never one that was given before.
func (d *Driver) handle() uintptr {
	d.handles += 16
	return 0xface_0000_0000 + d.handles
}

// fail ends the context: what is queued is dropped, and every later call fails.
func (d *Driver) fail(code driver.Result, why error) driver.Result {
	d.sticky, d.fault = code, why
	for _, s := range d.order {
		s.queue, s.head = s.queue[:0], 0
	}
	return code
}
