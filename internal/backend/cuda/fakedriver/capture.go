package fakedriver

import (
	"slices"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// Modes of a capture: what is forbidden meanwhile, to whom.
const (
	captureGlobal uint32 = 0 // to every thread
	// driver.CaptureThreadLocal: to the capturing thread
	captureRelaxed uint32 = 2 // to nobody
)

// capture is a recording of what is put into a stream, and into those that joined it
// by waiting for an event of it. Its tasks are in the order of the calls, which is one
// of the orders that their dependencies allow.
type capture struct {
	first  *stream
	joined []*stream // first too
	thread int
	mode   uint32
	tasks  []task
	spoilt bool
}

// add makes a place for work of s.
func (c *capture) add(s *stream) *task {
	s.loose = s != c.first
	s.captured++
	c.tasks = append(c.tasks, task{})
	return &c.tasks[len(c.tasks)-1]
}

// spoil ends what a capture is good for: what it was asked is not allowed in it.
func (d *Driver) spoil(c *capture, r driver.Result) driver.Result {
	c.spoilt = true
	return r
}

// forbidden says whether a capture forbids what could wait or allocate.
func (d *Driver) forbidden() driver.Result {
	for _, c := range d.captures {
		if c.mode == captureGlobal || c.mode == driver.CaptureThreadLocal && c.thread == thread() {
			return d.spoil(c, captureUnsupported)
		}
	}
	return driver.Success
}

func (d *Driver) streamBeginCapture(st driver.Stream, mode uint32) driver.Result {
	if r := d.enter(cuStreamBeginCapture); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	switch {
	case r != driver.Success:
		return r
	case mode > captureRelaxed:
		return driver.InvalidValue
	case s.capture != nil:
		return d.spoil(s.capture, illegalState)
	}
	s.capture = &capture{first: s, joined: []*stream{s}, thread: thread(), mode: mode}
	d.captures = append(d.captures, s.capture)
	return driver.Success
}

func (d *Driver) streamEndCapture(st driver.Stream, g *driver.Graph) driver.Result {
	if r := d.enter(cuStreamEndCapture); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	switch {
	case r != driver.Success:
		return r
	case g == nil:
		return driver.InvalidValue
	case s.capture == nil:
		return illegalState
	case s.capture.first != s:
		return d.spoil(s.capture, captureUnjoined)
	case s.capture.mode != captureRelaxed && s.capture.thread != thread():
		return captureWrongThread
	}
	c := s.capture
	*g = 0
	result := driver.Success
	for _, j := range c.joined {
		if j.loose {
			result = captureUnjoined
		}
		j.capture, j.loose, j.captured = nil, false, 0
	}
	d.captures = slices.DeleteFunc(d.captures, func(o *capture) bool { return o == c })
	if c.spoilt {
		return captureInvalidated
	}
	if result == driver.Success {
		*g = driver.Graph(d.handle())
		d.graphs[*g] = &graph{tasks: c.tasks}
	}
	return result
}

// join lets a stream wait for an event where one of them belongs to a capture.
func (d *Driver) join(s *stream, e *event) driver.Result {
	switch {
	case e.capture == nil:
		// What is captured can't wait for what is not.
		return d.spoil(s.capture, captureIsolation)
	case s.capture == nil:
		if !slices.Contains(d.captures, e.capture) {
			return capturedEvent // of a capture that has ended
		}
		s.capture = e.capture
		s.capture.joined = append(s.capture.joined, s)
	case s.capture != e.capture:
		return d.spoil(s.capture, captureMerge)
	}
	if s == s.capture.first && e.after == e.by.captured {
		e.by.loose = false
	}
	return driver.Success
}
