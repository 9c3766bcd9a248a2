package driver

import "unsafe"

// Calls are a Hot whose results are errors. They allocate only for an error. Calls
// belong to one goroutine at a time, locked to its thread, with a context current.
type Calls struct {
	driver *Driver
	hot    Hot
}

// Calls makes some for a goroutine.
func (d *Driver) Calls() (*Calls, error) {
	c := &Calls{driver: d}
	if err := bind(d.lib, c.hot.symbols()); err != nil {
		return nil, err
	}
	return c, nil
}

// CopyIn copies to the device, in the stream's order. The source is memory of
// AllocHost and stays as it is until the stream got there.
func (c *Calls) CopyIn(to DevicePtr, from []byte, s Stream) error {
	return c.driver.err("cuMemcpyHtoDAsync_v2", c.hot.MemcpyHtoDAsync(to, unsafe.Pointer(unsafe.SliceData(from)), uint64(len(from)), s))
}

// CopyOut copies from the device to memory of AllocHost, in the stream's order.
func (c *Calls) CopyOut(to []byte, from DevicePtr, s Stream) error {
	return c.driver.err("cuMemcpyDtoHAsync_v2", c.hot.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(to)), from, uint64(len(to)), s))
}

// Copy copies within the device, in the stream's order.
func (c *Calls) Copy(to, from DevicePtr, bytes int64, s Stream) error {
	return c.driver.err("cuMemcpyDtoDAsync_v2", c.hot.MemcpyDtoDAsync(to, from, uint64(bytes), s))
}

// Fill sets bytes of the device to a value, in the stream's order.
func (c *Calls) Fill(at DevicePtr, value uint8, bytes int64, s Stream) error {
	return c.driver.err("cuMemsetD8Async", c.hot.MemsetD8Async(at, value, uint64(bytes), s))
}

// Launch is one launch of a function.
type Launch struct {
	Function    Function
	Grid, Block [3]uint32
	Shared      uint32          // dynamic shared memory in bytes
	Params      *unsafe.Pointer // to a pointer for each parameter, all of pinned memory; nil: none
}

// Launch starts a kernel, in the stream's order.
func (c *Calls) Launch(l *Launch, s Stream) error {
	return c.driver.err("cuLaunchKernel", c.hot.LaunchKernel(l.Function, l.Grid[0], l.Grid[1], l.Grid[2],
		l.Block[0], l.Block[1], l.Block[2], l.Shared, s, l.Params, nil))
}

// LaunchGraph starts all of a graph, in the stream's order.
func (c *Calls) LaunchGraph(x GraphExec, s Stream) error {
	return c.driver.err("cuGraphLaunch", c.hot.GraphLaunch(x, s))
}

// Wait waits until a stream has done all it was given. Errors of what it did come out
// here.
func (c *Calls) Wait(s Stream) error {
	return c.driver.err("cuStreamSynchronize", c.hot.StreamSynchronize(s))
}

// Record puts an event into a stream.
func (c *Calls) Record(e Event, s Stream) error {
	return c.driver.err("cuEventRecord", c.hot.EventRecord(e, s))
}

// WaitEvent waits until a stream has reached an event that was recorded in it.
func (c *Calls) WaitEvent(e Event) error {
	return c.driver.err("cuEventSynchronize", c.hot.EventSynchronize(e))
}
