package cuda

import (
	"errors"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/prog"
)

// owner has a runner's memory, stream and launches. All of it belongs to one
// goroutine, with the device's context current on its thread.
//
//	batch ─ write ─▶ pinned ─ one copy ─▶ Step ─ kernels, or a graph ─▶ logits ─ copy ─▶ pinned ─▶ caller
type owner struct {
	model  *model
	limits backend.Limits

	calls   *driver.Calls
	stream  driver.Stream
	end     driver.Event // of a step
	memory  *reservation
	scratch *reservation
	pages   []kvPart // what makes up a page

	rig    *rig
	ops    []op
	lists  lists
	writer stepWriter
	out    []byte // pinned, of all rows of logits or picks

	err  error // the first of the device: what is in its memory is not known any more
	told bool  // a Run has answered with it
}

// open reserves and clears all memory, and compiles the program.
func (o *owner) open() (err error) {
	d := o.model.device
	if o.calls, err = d.driver.Calls(); err != nil {
		return err
	}
	if o.stream, err = d.driver.NewStream(); err != nil {
		return err
	}
	if o.end, err = d.driver.NewEvent(driver.EventBlocking | driver.EventNoTiming); err != nil {
		return err
	}
	if err := o.place(); err != nil {
		return err
	}
	l := o.limits
	if o.writer.memory, err = d.driver.AllocHost(stepBytes(l)); err != nil {
		return err
	}
	o.writer.at = o.rig.step
	each := max(4*int64(o.model.prog.OutWidth()), pickBytes)
	if o.out, err = d.driver.AllocHost(backend.Product(each, int64(l.LogitRows))); err != nil {
		return err
	}
	if err := o.constants(); err != nil {
		return err
	}
	o.lists.byBucket = map[bucket]*list{}
	return nil
}

// place measures, reserves and compiles.
func (o *owner) place() error {
	d, p := o.model.device, o.model.plan
	m, err := p.checked(o.limits)
	if err != nil {
		return err
	}
	var placed, scratch *regions
	if o.memory, placed, err = d.reserve("the KV cache and the activations", m.regions); err != nil {
		return err
	}
	r := &regions{}
	at := r.take(m.scratchMost)
	if o.scratch, scratch, err = d.reserve("the scratch of the ops", r); err != nil {
		return err
	}
	if m.scratchMost > 0 {
		at = scratch.take(m.scratchMost)
	}
	o.rig = newRig(p.prog, o.limits, d.facts, p.weights, placed, d.opts.Apart)
	o.rig.scratchAt = at
	o.pages = o.rig.pages(d.opts.Apart)
	if o.ops, err = o.rig.compile(); err != nil {
		return err
	}
	return d.compile(kernelsOf(o.ops, o.limits, d.opts.Unfused))
}

// constants clears the memory and puts down what the ops have there for good.
func (o *owner) constants() error {
	if err := o.clear(o.model.device.opts.Rubbish); err != nil {
		return err
	}
	s := &sender{driver: o.model.device.driver, calls: o.calls, stream: o.stream, staging: o.writer.memory}
	for _, c := range o.rig.constant {
		if err := s.bytes(c.at, c.data); err != nil {
			return err
		}
	}
	return o.calls.Wait(o.stream)
}

// clear sets all memory, the cache to zeros in any case.
func (o *owner) clear(r Rubbish) error {
	if r != Left {
		for _, m := range []*reservation{o.memory, o.scratch} {
			if err := m.fill(o.calls, r.value(), o.stream); err != nil {
				return err
			}
		}
	}
	if r == Zeros {
		return nil
	}
	for _, p := range o.pages {
		if err := o.calls.Fill(driver.DevicePtr(p.at), 0, p.stride*int64(o.limits.Pages), o.stream); err != nil {
			return err
		}
	}
	return nil
}

// do carries out a job, unless one before it failed on the device.
func (o *owner) do(j job) error {
	if o.err == nil {
		o.err = o.carryOut(j)
	}
	o.told = o.told || o.err != nil && j.copies == nil // who copies pages hears of it later
	return o.err
}

func (o *owner) carryOut(j job) error {
	switch {
	case j.batch != nil:
		return o.run(j)
	case j.copies != nil:
		return o.copyPages(j.copies)
	}
	return o.row(j.row, j.logits)
}

// copyPages copies whole pages, in the stream's order.
func (o *owner) copyPages(copies []backend.PageCopy) error {
	for _, c := range copies {
		for _, p := range o.pages {
			to, from := p.at+address(int64(c.To)*p.stride), p.at+address(int64(c.From)*p.stride)
			if err := o.calls.Copy(driver.DevicePtr(to), driver.DevicePtr(from), p.bytes, o.stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// run is a step, from the batch to the logits, or to what is picked from them.
func (o *owner) run(j job) error {
	l, err := o.list(j.batch, j.picks != nil)
	if err != nil {
		return err
	}
	step := o.writer.write(j.batch, o.limits.PageSize)
	if j.picks != nil {
		step = o.writer.temperatures(j.temps)
	}
	if err := o.calls.CopyIn(driver.DevicePtr(o.rig.step), step, o.stream); err != nil {
		return err
	}
	if err := o.start(l); err != nil {
		return err
	}
	if j.picks != nil {
		return o.fetch(bytesOf(j.picks), o.rig.picks)
	}
	return o.fetch(bytesOf(j.logits[:len(j.batch.Logits)*o.model.prog.OutWidth()]), o.rig.logits)
}

// start puts a step's kernels into the stream. A graph may take the memory that it wants
// of the device only when it is launched first: where there is none it goes.
func (o *owner) start(l *list) error {
	if l.graph != 0 {
		err := o.calls.LaunchGraph(l.graph, o.stream)
		if err == nil || !driver.IsOutOfMemory(err) {
			return err
		}
		if err := l.ungraph(o.model.device.driver); err != nil {
			return err
		}
		o.lists.lost++
		o.warnOfLost()
	}
	return l.launch(o.calls, o.stream)
}

// warnOfLost tells that there are fewer graphs than there should be.
func (o *owner) warnOfLost() {
	o.model.device.log.Warn("the device has no memory for more graphs: some steps launch their kernels one by one", "steps", o.lists.lost)
}

// row is a row of logits of the last step.
func (o *owner) row(i int, logits []float32) error {
	width := o.model.prog.OutWidth()
	return o.fetch(bytesOf(logits[:width]), o.rig.logits+address(4*i*width))
}

// fetch copies from the device, behind all that is under way, and waits for it.
func (o *owner) fetch(to []byte, from address) error {
	out := o.out[:len(to)]
	if len(out) > 0 {
		if err := o.calls.CopyOut(out, driver.DevicePtr(from), o.stream); err != nil {
			return err
		}
	}
	if err := o.calls.Record(o.end, o.stream); err != nil {
		return err
	}
	if err := o.calls.WaitEvent(o.end); err != nil {
		return err
	}
	copy(to, out)
	return nil
}

// bytesOf is the memory of values that hold no pointer.
func bytesOf[T float32 | backend.Pick](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// list is the launches of a step's bucket, a graph where it is one of decoding.
func (o *owner) list(b *prog.Batch, pick bool) (*list, error) {
	d := o.model.device
	k := bucketOf(b, o.limits)
	k.pick = pick
	if l := o.lists.warm(k); l != nil {
		return l, nil
	}
	if err := o.lists.room(d.driver); err != nil {
		return nil, err
	}
	l, err := newList(o.ops, k, d.kernels, d.opts.Unfused)
	if err != nil {
		return nil, err
	}
	o.lists.add(k, l)
	if k.decode && !d.opts.NoGraphs {
		lost := o.lists.lost
		err = l.capture(d.driver, o.calls, o.stream, func() (bool, error) { return o.lists.ungraph(d.driver) })
		if driver.IsCapture(err) { // a graph is faster, no more: the launches are the same
			d.log.Warn("a graph could not be captured: its steps launch their kernels one by one", "err", err)
			return l, nil
		}
		if err == nil && l.graph == 0 {
			o.lists.lost++
		}
		if o.lists.lost > lost {
			o.warnOfLost()
		}
	}
	return l, err
}

// close gives all back, as far as open came. Errors that follow from one of the device
// that a Run has told of are not told again.
func (o *owner) close() error {
	d := o.model.device.driver
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	if o.stream != 0 { // also after an error: what was put there before it may still run
		note(settle(o.calls, o.stream))
	}
	note(o.lists.close(d))
	for _, m := range [][]byte{o.writer.memory, o.out} {
		if m != nil {
			note(d.FreeHost(m))
		}
	}
	note(o.memory.free())
	note(o.scratch.free())
	if o.end != 0 {
		note(d.CloseEvent(o.end))
	}
	if o.stream != 0 {
		note(d.CloseStream(o.stream))
	}
	switch {
	case o.told:
		return nil
	case o.err != nil:
		return o.err
	}
	return errors.Join(errs...)
}
