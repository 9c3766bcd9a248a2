package main

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// meter is a library that counts the calls of steps, and has the card time each step:
// an event before the first thing that a step puts into its stream, one where the step
// puts its own. It is switched on while nothing but steps of one runner are made.
type meter struct {
	driver.Library
	table driver.Table
	hot   driver.Hot

	graphs int // launches of graphs, also while it is off

	captured  int // kernels of the last graph that was captured, also while it is off
	capturing bool

	on     bool
	calls  map[string]int
	steps  int
	busy   float64 // milliseconds between the events of all steps
	begun  bool
	events [2]driver.Event
	fault  driver.Result // of the meter's own calls
}

func newMeter(l driver.Library) *meter { return &meter{Library: l} }

// Bind implements driver.Library.
func (m *meter) Bind(symbol string, fn any) error {
	if err := m.Library.Bind(symbol, fn); err != nil {
		return err
	}
	switch fn := fn.(type) {
	case *func(driver.DevicePtr, unsafe.Pointer, uint64, driver.Stream) driver.Result:
		f := *fn
		*fn = func(to driver.DevicePtr, from unsafe.Pointer, n uint64, s driver.Stream) driver.Result {
			m.count(symbol, s)
			return f(to, from, n, s)
		}
	case *func(unsafe.Pointer, driver.DevicePtr, uint64, driver.Stream) driver.Result:
		f := *fn
		*fn = func(to unsafe.Pointer, from driver.DevicePtr, n uint64, s driver.Stream) driver.Result {
			m.count(symbol, s)
			return f(to, from, n, s)
		}
	case *func(driver.DevicePtr, driver.DevicePtr, uint64, driver.Stream) driver.Result:
		f := *fn
		*fn = func(to, from driver.DevicePtr, n uint64, s driver.Stream) driver.Result {
			m.count(symbol, s)
			return f(to, from, n, s)
		}
	case *func(driver.DevicePtr, uint8, uint64, driver.Stream) driver.Result:
		f := *fn
		*fn = func(at driver.DevicePtr, v uint8, n uint64, s driver.Stream) driver.Result {
			m.count(symbol, s)
			return f(at, v, n, s)
		}
	case *func(driver.Function, uint32, uint32, uint32, uint32, uint32, uint32, uint32, driver.Stream, *unsafe.Pointer, *unsafe.Pointer) driver.Result:
		f := *fn
		*fn = func(k driver.Function, gx, gy, gz, bx, by, bz, shared uint32, s driver.Stream, params, extra *unsafe.Pointer) driver.Result {
			if m.capturing {
				m.captured++
			}
			m.count(symbol, s)
			return f(k, gx, gy, gz, bx, by, bz, shared, s, params, extra)
		}
	case *func(driver.Stream, uint32) driver.Result:
		if symbol != "cuStreamBeginCapture_v2" {
			return nil
		}
		f := *fn
		*fn = func(s driver.Stream, mode uint32) driver.Result {
			m.captured, m.capturing = 0, true
			return f(s, mode)
		}
	case *func(driver.Stream, *driver.Graph) driver.Result:
		f := *fn
		*fn = func(s driver.Stream, g *driver.Graph) driver.Result {
			m.capturing = false
			return f(s, g)
		}
	case *func(driver.GraphExec, driver.Stream) driver.Result:
		f := *fn
		*fn = func(x driver.GraphExec, s driver.Stream) driver.Result {
			m.graphs++
			m.count(symbol, s)
			return f(x, s)
		}
	case *func(driver.Event, driver.Stream) driver.Result:
		f := *fn
		*fn = func(e driver.Event, s driver.Stream) driver.Result {
			m.count(symbol, s)
			m.mark(1, s)
			return f(e, s)
		}
	case *func(driver.Event) driver.Result:
		if symbol != "cuEventSynchronize" {
			return nil
		}
		f := *fn
		*fn = func(e driver.Event) driver.Result {
			if m.on {
				m.calls[symbol]++
			}
			r := f(e)
			m.end()
			return r
		}
	case *func(driver.Stream) driver.Result:
		if symbol != "cuStreamSynchronize" {
			return nil
		}
		f := *fn
		*fn = func(s driver.Stream) driver.Result {
			if m.on {
				m.calls[symbol]++
			}
			return f(s)
		}
	}
	return m.own(symbol)
}

// own binds what the meter itself calls, with the first function that is bound.
func (m *meter) own(symbol string) error {
	if symbol != "cuInit" {
		return nil
	}
	for name, fn := range map[string]any{
		"cuEventCreate": &m.table.EventCreate, "cuEventDestroy_v2": &m.table.EventDestroy,
		"cuEventElapsedTime": &m.table.EventElapsedTime, "cuEventRecord": &m.hot.EventRecord,
		"cuEventSynchronize": &m.hot.EventSynchronize,
	} {
		if err := m.Library.Bind(name, fn); err != nil {
			return err
		}
	}
	return nil
}

// start begins to count, from nothing. The context is current on the calling thread.
func (m *meter) start() driver.Result {
	m.calls, m.steps, m.busy, m.begun, m.fault = map[string]int{}, 0, 0, false, driver.Success
	for i := range m.events {
		m.note(m.table.EventCreate(&m.events[i], driver.EventBlocking))
	}
	m.on = m.fault == driver.Success
	return m.fault
}

// stop ends it.
func (m *meter) stop() driver.Result {
	m.on = false
	for _, e := range m.events {
		m.note(m.table.EventDestroy(e))
	}
	return m.fault
}

func (m *meter) note(r driver.Result) {
	if m.fault == driver.Success {
		m.fault = r
	}
}

// count counts a call that puts something into a stream.
func (m *meter) count(symbol string, s driver.Stream) {
	if !m.on {
		return
	}
	m.calls[symbol]++
	if !m.begun {
		m.begun = true
		m.mark(0, s)
	}
}

func (m *meter) mark(which int, s driver.Stream) {
	if m.on {
		m.note(m.hot.EventRecord(m.events[which], s))
	}
}

// end adds the time of the step that was waited for.
func (m *meter) end() {
	if !m.on || !m.begun {
		return
	}
	var ms float32
	m.note(m.hot.EventSynchronize(m.events[1]))
	m.note(m.table.EventElapsedTime(&ms, m.events[0], m.events[1]))
	m.busy += float64(ms)
	m.steps++
	m.begun = false
}

// perStep is how many calls a step makes.
func (m *meter) perStep() float64 {
	n := 0
	for _, c := range m.calls {
		n += c
	}
	return float64(n) / float64(max(m.steps, 1))
}
