package fakedriver

import (
	"slices"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// granule is what an allocation's length is rounded up to, in the count of what is
// left.
const granule = 512

// block is an allocation.
type block struct{ at, bytes uint64 }

// pinnedRange is memory of cuMemHostAlloc.
type pinnedRange struct {
	at   unsafe.Pointer
	data []byte
}

func (d *Driver) memAlloc(at *driver.DevicePtr, bytes uint64) driver.Result {
	if r := d.enter(cuMemAlloc); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if at == nil || bytes == 0 {
		return driver.InvalidValue
	}
	p, ok := d.mem.alloc(bytes)
	if !ok {
		return driver.OutOfMemory
	}
	*at = driver.DevicePtr(p)
	return driver.Success
}

// memFree waits for all work first, as the real one does.
func (d *Driver) memFree(at driver.DevicePtr) driver.Result {
	if r := d.enter(cuMemFree); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if at == 0 {
		return driver.Success
	}
	if r := d.drain(); r != driver.Success {
		return r
	}
	if !d.mem.release(uint64(at)) {
		return driver.InvalidValue
	}
	return driver.Success
}

func (d *Driver) memGetInfo(free, total *uint64) driver.Result {
	if r := d.enter(cuMemGetInfo); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	*total = d.mem.total
	*free = d.mem.total - d.mem.used
	return driver.Success
}

// memHostAlloc: the memory is Go's, of fresh pages' zeros turned into rubbish.
func (d *Driver) memHostAlloc(at *unsafe.Pointer, bytes uint64, flags uint32) driver.Result {
	if r := d.enter(cuMemHostAlloc); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	if at == nil || bytes == 0 || bytes > 1<<40 || flags&^7 != 0 {
		return driver.InvalidValue
	}
	words := make([]uint64, (bytes+7)/8) // aligned as the real one's
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), bytes)
	for i := range data {
		data[i] = poison
	}
	*at = unsafe.Pointer(&data[0])
	d.pinned = append(d.pinned, pinnedRange{*at, data})
	return driver.Success
}

// memFreeHost waits for nothing: whether the real one does is not promised.
func (d *Driver) memFreeHost(at unsafe.Pointer) driver.Result {
	if r := d.enter(cuMemFreeHost); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.pinned, func(p pinnedRange) bool { return p.at == at })
	if i < 0 {
		return driver.InvalidValue
	}
	if p := &d.pinned[i]; d.queued(func(t *task) bool { return t.touches(p) }) {
		return d.fail(illegalAddress, errEarlyFree)
	}
	for j := range d.pinned[i].data {
		d.pinned[i].data[j] = poison
	}
	d.pinned = slices.Delete(d.pinned, i, i+1)
	return driver.Success
}

// host finds pinned memory that holds bytes from at on; nil where there is none.
func (d *Driver) host(at unsafe.Pointer, bytes uint64) []byte {
	for i := range d.pinned {
		p := &d.pinned[i]
		off := uintptr(at) - uintptr(p.at)
		if uintptr(at) >= uintptr(p.at) && uint64(off)+bytes <= uint64(len(p.data)) {
			return p.data[off : uint64(off)+bytes]
		}
	}
	return nil
}

func (d *Driver) memcpyHtoDAsync(to driver.DevicePtr, from unsafe.Pointer, bytes uint64, st driver.Stream) driver.Result {
	if r := d.enter(cuMemcpyHtoDAsync); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success || bytes == 0 {
		return r
	}
	src := d.host(from, bytes)
	if src == nil || !d.mem.holds(uint64(to), bytes) {
		return driver.InvalidValue // memory that is not pinned too: such a copy is not asynchronous
	}
	t := d.put(s, cuMemcpyHtoDAsync)
	t.kind, t.to = copyIn, uint64(to)
	t.source(s, src)
	return d.placed(s)
}

func (d *Driver) memcpyDtoHAsync(to unsafe.Pointer, from driver.DevicePtr, bytes uint64, st driver.Stream) driver.Result {
	if r := d.enter(cuMemcpyDtoHAsync); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success || bytes == 0 {
		return r
	}
	dst := d.host(to, bytes)
	if dst == nil || !d.mem.holds(uint64(from), bytes) {
		return driver.InvalidValue
	}
	t := d.put(s, cuMemcpyDtoHAsync)
	t.kind, t.from = copyOut, uint64(from)
	t.target(s, dst)
	return d.placed(s)
}

func (d *Driver) memcpyDtoDAsync(to, from driver.DevicePtr, bytes uint64, st driver.Stream) driver.Result {
	if r := d.enter(cuMemcpyDtoDAsync); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success || bytes == 0 {
		return r
	}
	if !d.mem.holds(uint64(to), bytes) || !d.mem.holds(uint64(from), bytes) {
		return driver.InvalidValue
	}
	t := d.put(s, cuMemcpyDtoDAsync)
	t.kind, t.to, t.from, t.bytes = copyWithin, uint64(to), uint64(from), bytes
	return d.placed(s)
}

func (d *Driver) memsetD8Async(at driver.DevicePtr, value uint8, bytes uint64, st driver.Stream) driver.Result {
	if r := d.enter(cuMemsetD8Async); r != driver.Success {
		return r
	}
	defer d.mu.Unlock()
	s, r := d.stream(st)
	if r != driver.Success || bytes == 0 {
		return r
	}
	if !d.mem.holds(uint64(at), bytes) {
		return driver.InvalidValue
	}
	t := d.put(s, cuMemsetD8Async)
	t.kind, t.to, t.bytes, t.value = set, uint64(at), bytes, value
	return d.placed(s)
}
