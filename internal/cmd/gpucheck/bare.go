package main

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
)

// bare is the driver by hand: a stream, device memory, and our own kernels. All calls
// are made on one thread with the context current.
type bare struct {
	driver  *driver.Driver
	calls   *driver.Calls
	stream  driver.Stream
	modules map[string]driver.Module
	pinned  []byte
	memory  []driver.DevicePtr
}

// stagingBytes is the pinned memory that copies go through.
const stagingBytes = 4 << 20

func (b *bare) open(files fs.FS) (err error) {
	if b.calls, err = b.driver.Calls(); err != nil {
		return err
	}
	if b.stream, err = b.driver.NewStream(); err != nil {
		return err
	}
	if b.pinned, err = b.driver.AllocHost(stagingBytes); err != nil {
		return err
	}
	texts, err := ptx.Read(files)
	if err != nil {
		return err
	}
	for name, text := range texts {
		if err := b.load(name, text); err != nil {
			return err
		}
	}
	return nil
}

// load compiles a module, which stays until close.
func (b *bare) load(name string, text []byte) error {
	m, _, err := b.driver.LoadModule(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.modules[strings.TrimSuffix(name, ".ptx")] = m
	return nil
}

// close gives all back, as far as open and what came after it got.
func (b *bare) close() error {
	var errs []error
	for _, at := range b.memory {
		errs = append(errs, b.driver.Free(at))
	}
	for _, m := range b.modules {
		errs = append(errs, b.driver.UnloadModule(m))
	}
	if b.pinned != nil {
		errs = append(errs, b.driver.FreeHost(b.pinned))
	}
	if b.stream != 0 {
		errs = append(errs, b.driver.CloseStream(b.stream))
	}
	return errors.Join(errs...)
}

// alloc reserves device memory until close.
func (b *bare) alloc(bytes int64) (driver.DevicePtr, error) {
	at, err := b.driver.Alloc(bytes)
	if err == nil {
		b.memory = append(b.memory, at)
	}
	return at, err
}

// words is data as bytes.
func words(data []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), 4*len(data))
}

// send puts data into device memory of its own.
func (b *bare) send(data []uint32) (driver.DevicePtr, error) {
	at, err := b.alloc(int64(4 * len(data)))
	if err != nil {
		return 0, err
	}
	to := at
	for from := words(data); len(from) > 0; {
		n := copy(b.pinned, from)
		if err := b.calls.CopyIn(to, b.pinned[:n], b.stream); err != nil {
			return 0, err
		}
		if err := b.calls.Wait(b.stream); err != nil {
			return 0, err
		}
		to, from = to+driver.DevicePtr(n), from[n:]
	}
	return at, nil
}

// fetch waits for the stream and copies n words from the device.
func (b *bare) fetch(at driver.DevicePtr, n int) ([]uint32, error) {
	out := make([]uint32, n)
	for to := words(out); len(to) > 0; {
		part := b.pinned[:min(len(to), len(b.pinned))]
		if err := b.calls.CopyOut(part, at, b.stream); err != nil {
			return nil, err
		}
		if err := b.calls.Wait(b.stream); err != nil {
			return nil, err
		}
		copy(to, part)
		at, to = at+driver.DevicePtr(len(part)), to[len(part):]
	}
	return out, nil
}

// launch starts a kernel of blocks × threads. Its arguments are device addresses,
// int32 or int64.
func (b *bare) launch(module, kernel string, blocks, threads int, args ...any) error {
	return b.launchGrid(module, kernel, [3]uint32{uint32(blocks), 1, 1}, threads, args...)
}

// launchGrid is launch with blocks in more than one dimension.
func (b *bare) launchGrid(module, kernel string, grid [3]uint32, threads int, args ...any) error {
	f, err := b.driver.Function(b.modules[module], kernel)
	if err != nil {
		return fmt.Errorf("%s: %w", kernel, err)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	values, params := make([]uint64, len(args)), make([]unsafe.Pointer, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case driver.DevicePtr:
			values[i] = uint64(a)
		case int64:
			values[i] = uint64(a)
		case int32: // the low half, where the parameter is read
			*(*int32)(unsafe.Pointer(&values[i])) = a
		default:
			return fmt.Errorf("%s: an argument of type %T", kernel, a)
		}
		params[i] = unsafe.Pointer(&values[i])
	}
	pin.Pin(&values[0])
	pin.Pin(&params[0])
	return b.calls.Launch(&driver.Launch{
		Function: f, Grid: grid, Block: [3]uint32{uint32(threads), 1, 1}, Params: &params[0],
	}, b.stream)
}

// time is how long f's work takes on the card, in milliseconds, by events around it;
// the least of some runs after one that is not counted.
func (b *bare) time(runs int, f func() error) (float64, error) {
	var events [2]driver.Event
	for i := range events {
		e, err := b.driver.NewEvent(driver.EventBlocking)
		if err != nil {
			return 0, err
		}
		defer b.driver.CloseEvent(e)
		events[i] = e
	}
	best := 0.0
	for i := range runs + 1 {
		if err := b.calls.Record(events[0], b.stream); err != nil {
			return 0, err
		}
		if err := f(); err != nil {
			return 0, err
		}
		if err := b.calls.Record(events[1], b.stream); err != nil {
			return 0, err
		}
		if err := b.calls.WaitEvent(events[1]); err != nil {
			return 0, err
		}
		ms, err := b.driver.Elapsed(events[0], events[1])
		if err != nil {
			return 0, err
		}
		if i > 0 && (best == 0 || float64(ms) < best) {
			best = float64(ms)
		}
	}
	return best, nil
}
