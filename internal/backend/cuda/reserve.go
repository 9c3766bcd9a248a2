package cuda

import (
	"errors"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// reservation is device memory that belongs together.
type reservation struct {
	driver *driver.Driver
	pieces []driver.DevicePtr
	sizes  []int64
}

// reserve makes memory for measured regions, and the regions of the same requests in
// it. It runs with a context current.
func (d *Device) reserve(what string, measured *regions) (*reservation, *regions, error) {
	r := &reservation{driver: d.driver}
	placed := &regions{}
	if d.opts.Apart {
		placed.apart = []address{}
		for _, size := range measured.exact {
			at, err := r.add(d, what, size, measured.total)
			if err != nil {
				return nil, nil, err
			}
			placed.apart = append(placed.apart, at)
		}
		return r, placed, nil
	}
	if measured.total == 0 {
		return r, placed, nil
	}
	var err error
	if placed.base, err = r.add(d, what, measured.total, measured.total); err != nil {
		return nil, nil, err
	}
	return r, placed, nil
}

// add reserves one piece; if that fails, all are given back.
func (r *reservation) add(d *Device, what string, size, total int64) (address, error) {
	at, err := d.driver.Alloc(size)
	if err == nil {
		r.pieces, r.sizes = append(r.pieces, at), append(r.sizes, size)
		return address(at), nil
	}
	if driver.IsOutOfMemory(err) {
		available := int64(-1)
		if free, _, e := d.driver.MemInfo(); e == nil {
			available = int64(free)
		}
		err = &MemoryError{For: what, Need: total, Available: available, Err: err}
	}
	return 0, errors.Join(err, r.free())
}

// fill sets all bytes of it, in a stream's order.
func (r *reservation) fill(c *driver.Calls, value byte, s driver.Stream) error {
	for i, at := range r.pieces {
		if err := c.Fill(at, value, r.sizes[i], s); err != nil {
			return err
		}
	}
	return nil
}

// free gives all of it back; a second call does nothing.
func (r *reservation) free() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, at := range r.pieces {
		errs = append(errs, r.driver.Free(at))
	}
	r.pieces, r.sizes = nil, nil
	return errors.Join(errs...)
}

// keptBack is the part of a device's memory that models and runners leave: what the
// driver itself takes later, for the code of kernels, their local memory and graphs,
// grows with neither of them and can't be asked for. It is 3 % and at least 512 MiB,
// of devices with less than 8 GiB a sixteenth.
func keptBack(memory uint64) int64 {
	return int64(max(min(512<<20, memory/16), memory/100*3))
}

// short is the error of a call, a *MemoryError if the driver ran out of memory in it.
func (d *Device) short(what string, err error) error {
	if m := (*MemoryError)(nil); errors.As(err, &m) || !driver.IsOutOfMemory(err) {
		return err
	}
	return &MemoryError{For: what, Available: -1, Err: err}
}
