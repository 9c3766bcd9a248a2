package fakedriver

import "github.com/paddock-go/paddock/internal/backend/cuda/driver"

// stream is a queue of work. What is in it runs when somebody waits.
//
//	queue  · · · a b c d        head: the next to run; the places before it are used
//	             head           again once all is done, so a warm stream allocates nothing
type stream struct {
	handle   driver.Stream
	flags    uint32
	queue    []task
	head     int
	capture  *capture // where its work goes instead
	loose    bool     // in a capture: has work that the first stream does not wait for yet
	captured int      // pieces of work in the capture
	gone     bool     // given back
}

// add makes a place at the end of the queue, with the memory of a task that was there
// before.
func (s *stream) add() *task {
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	if len(s.queue) == cap(s.queue) {
		s.queue = append(s.queue, task{})
	} else {
		s.queue = s.queue[:len(s.queue)+1]
	}
	t := &s.queue[len(s.queue)-1]
	*t = task{params: t.params[:0]}
	return t
}

func (d *Driver) streamCreate(st *driver.Stream, flags uint32) driver.Result {
	if r := d.enter(cuStreamCreate); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if st == nil || flags&^driver.StreamNonBlocking != 0 {
		return driver.InvalidValue
	}
	s := &stream{handle: driver.Stream(d.handle()), flags: flags}
	d.streams[s.handle] = s
	d.order = append(d.order, s)
	*st = s.handle
	return driver.Success
}

// streamDestroy leaves the stream's work to be done some time, as the real one does: it
// does not wait.
func (d *Driver) streamDestroy(st driver.Stream) driver.Result {
	if r := d.enter(cuStreamDestroy); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	if s.capture != nil {
		return d.spoil(s.capture, captureUnsupported)
	}
	delete(d.streams, st)
	s.gone = true
	d.forget()
	return driver.Success
}

func (d *Driver) streamSynchronize(st driver.Stream) driver.Result {
	if r := d.enter(cuStreamSynchronize); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	if s.capture != nil {
		return d.spoil(s.capture, captureUnsupported)
	}
	return d.runAll(s)
}

// streamQuery does one piece of the stream's work if there is any, so that who asks
// again and again comes to the end.
func (d *Driver) streamQuery(st driver.Stream) driver.Result {
	if r := d.enter(cuStreamQuery); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	if s.capture != nil {
		return d.spoil(s.capture, captureUnsupported)
	}
	if s.head == len(s.queue) {
		return driver.Success
	}
	if r := d.runOne(s); r != driver.Success {
		return r
	}
	return notReady
}

// stream finds one. The default stream, 0, is not offered: the backend names its own,
// and one call that forgets it would wait for all of them.
func (d *Driver) stream(st driver.Stream) (*stream, driver.Result) {
	if s := d.streams[st]; s != nil {
		return s, driver.Success
	}
	if st == 0 && len(d.captures) > 0 {
		return nil, d.spoil(d.captures[0], captureImplicit)
	}
	return nil, invalidHandle
}

// put makes a place for work: in the stream's queue, or in its capture's.
func (d *Driver) put(s *stream, c call) *task {
	var t *task
	if s.capture != nil {
		t = s.capture.add(s)
	} else {
		t = s.add()
	}
	t.fails = d.late(c)
	return t
}

// runAll does all that a stream has, and what that waits for.
func (d *Driver) runAll(s *stream) driver.Result {
	for s.head < len(s.queue) {
		if r := d.runOne(s); r != driver.Success {
			return r
		}
	}
	return driver.Success
}

// runOne does the next piece.
func (d *Driver) runOne(s *stream) driver.Result {
	t := &s.queue[s.head]
	s.head++
	return d.run(t)
}

// drain does the work of all streams, the last made first.
func (d *Driver) drain() driver.Result {
	for i := len(d.order) - 1; i >= 0; i-- {
		if r := d.runAll(d.order[i]); r != driver.Success {
			return r
		}
	}
	d.forget()
	return driver.Success
}
