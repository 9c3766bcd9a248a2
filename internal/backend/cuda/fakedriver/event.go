package fakedriver

import "github.com/paddock-go/paddock/internal/backend/cuda/driver"

// event is a mark in a stream.
type event struct {
	flags   uint32
	issued  uint64 // records that were put into a stream
	done    uint64 // the last that was reached
	stream  *stream
	at      float64 // on the clock, when done
	capture *capture
	by      *stream // that recorded it in the capture
	after   int     // pieces of work that stream had put there before
}

func (d *Driver) eventCreate(ev *driver.Event, flags uint32) driver.Result {
	if r := d.enter(cuEventCreate); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if ev == nil || flags&^(driver.EventBlocking|driver.EventNoTiming) != 0 {
		return driver.InvalidValue
	}
	*ev = driver.Event(d.handle())
	d.events[*ev] = &event{flags: flags}
	return driver.Success
}

// eventDestroy: work that refers to the event still does.
func (d *Driver) eventDestroy(ev driver.Event) driver.Result {
	if r := d.enter(cuEventDestroy); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if d.events[ev] == nil {
		return invalidHandle
	}
	delete(d.events, ev)
	return driver.Success
}

func (d *Driver) eventRecord(ev driver.Event, st driver.Stream) driver.Result {
	if r := d.enter(cuEventRecord); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	e := d.events[ev]
	if e == nil {
		return invalidHandle
	}
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	if s.capture != nil { // it marks a place among what is captured, and no time
		e.capture, e.by, e.after = s.capture, s, s.captured
		return d.placed(s)
	}
	e.capture, e.by = nil, nil
	e.issued++
	e.stream = s
	t := d.put(s, cuEventRecord)
	t.kind, t.event, t.seq = record, e, e.issued
	return d.placed(s)
}

// eventQuery does one piece of work of the event's stream if it is not reached.
func (d *Driver) eventQuery(ev driver.Event) driver.Result {
	if r := d.enter(cuEventQuery); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	e := d.events[ev]
	switch {
	case e == nil:
		return invalidHandle
	case e.capture != nil:
		return d.spoil(e.capture, capturedEvent)
	case e.done == e.issued:
		return driver.Success
	}
	if r := d.runOne(e.stream); r != driver.Success {
		return r
	}
	return notReady
}

func (d *Driver) eventSynchronize(ev driver.Event) driver.Result {
	if r := d.enter(cuEventSynchronize); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	e := d.events[ev]
	if e == nil {
		return invalidHandle
	}
	if e.capture != nil {
		return d.spoil(e.capture, capturedEvent)
	}
	return d.await(e, e.issued, e.stream)
}

// await does work of a stream until the seq-th record of an event, which is there, is
// reached.
func (d *Driver) await(e *event, seq uint64, s *stream) driver.Result {
	for e.done < seq {
		if r := d.runOne(s); r != driver.Success {
			return r
		}
	}
	return driver.Success
}

func (d *Driver) eventElapsedTime(milliseconds *float32, from, to driver.Event) driver.Result {
	if r := d.enter(cuEventElapsedTime); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	a, b := d.events[from], d.events[to]
	switch {
	case a == nil || b == nil || (a.flags|b.flags)&driver.EventNoTiming != 0 || a.issued == 0 || b.issued == 0:
		return invalidHandle
	case a.capture != nil || b.capture != nil:
		return capturedEvent
	case a.done < a.issued || b.done < b.issued:
		return notReady
	}
	*milliseconds = float32(b.at - a.at)
	return driver.Success
}

func (d *Driver) streamWaitEvent(st driver.Stream, ev driver.Event, flags uint32) driver.Result {
	if r := d.enter(cuStreamWaitEvent); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success {
		return r
	}
	e := d.events[ev]
	switch {
	case e == nil:
		return invalidHandle
	case flags != 0:
		return driver.InvalidValue
	case s.capture != nil || e.capture != nil:
		return d.join(s, e)
	case e.done == e.issued:
		return driver.Success
	}
	t := d.put(s, cuStreamWaitEvent)
	t.kind, t.event, t.seq, t.on = waitFor, e, e.issued, e.stream
	return d.placed(s)
}
