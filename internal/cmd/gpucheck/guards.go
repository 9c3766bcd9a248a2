package main

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// guards is a library whose device memory comes with a guard before and behind it, and
// full of NaN. What is written into a guard shows when the memory is given back.
//
//	the card's   │ 64 KiB of 0x5a │ 0xff 0xff 0xff … │ 64 KiB of 0x5a │
//	                              the caller's
type guards struct {
	driver.Library
	table driver.Table // the few functions that are used here
	hot   driver.Hot

	mu    sync.Mutex
	sizes map[driver.DevicePtr]uint64 // by the caller's address
	most  uint64                      // bytes that were out at a time
	out   uint64
	torn  []string
}

const (
	guardBytes = 64 << 10
	guardByte  = 0x5a
	freshByte  = 0xff // NaN in every float format, −1 in every integer
)

func newGuards(l driver.Library) *guards {
	return &guards{Library: l, sizes: map[driver.DevicePtr]uint64{}}
}

// Bind implements driver.Library.
func (g *guards) Bind(symbol string, fn any) error {
	if err := g.Library.Bind(symbol, fn); err != nil {
		return err
	}
	switch symbol {
	case "cuMemAlloc_v2":
		alloc := fn.(*func(*driver.DevicePtr, uint64) driver.Result)
		g.table.MemAlloc, *alloc = *alloc, g.alloc
	case "cuMemFree_v2":
		free := fn.(*func(driver.DevicePtr) driver.Result)
		g.table.MemFree, *free = *free, g.free
	case "cuInit": // the first that is bound: those that are used here come along
		for name, own := range map[string]any{
			"cuStreamCreate": &g.table.StreamCreate, "cuStreamDestroy_v2": &g.table.StreamDestroy,
			"cuMemHostAlloc": &g.table.MemHostAlloc, "cuMemFreeHost": &g.table.MemFreeHost,
			"cuMemsetD8Async": &g.hot.MemsetD8Async, "cuMemcpyDtoHAsync_v2": &g.hot.MemcpyDtoHAsync,
			"cuStreamSynchronize": &g.hot.StreamSynchronize,
		} {
			if err := g.Library.Bind(name, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// alloc fills what it gives, and the guards, before anyone has it.
func (g *guards) alloc(at *driver.DevicePtr, n uint64) driver.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	var inner driver.DevicePtr
	if r := g.table.MemAlloc(&inner, n+2*guardBytes); r != driver.Success {
		return r
	}
	r := g.onStream(func(s driver.Stream) driver.Result {
		for _, part := range []struct {
			at    driver.DevicePtr
			value uint8
			n     uint64
		}{{inner, guardByte, guardBytes}, {inner + guardBytes, freshByte, n}, {inner + guardBytes + driver.DevicePtr(n), guardByte, guardBytes}} {
			if r := g.hot.MemsetD8Async(part.at, part.value, part.n, s); r != driver.Success {
				return r
			}
		}
		return driver.Success
	})
	if r != driver.Success {
		return r
	}
	*at = inner + guardBytes
	g.sizes[*at] = n
	g.out += n
	g.most = max(g.most, g.out)
	return driver.Success
}

// free looks at the guards first.
func (g *guards) free(at driver.DevicePtr) driver.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, ok := g.sizes[at]
	if !ok {
		return g.table.MemFree(at)
	}
	var host unsafe.Pointer
	if r := g.table.MemHostAlloc(&host, 2*guardBytes, 0); r != driver.Success {
		return r
	}
	end := at + driver.DevicePtr(n)
	r := g.onStream(func(s driver.Stream) driver.Result {
		if r := g.hot.MemcpyDtoHAsync(host, at-guardBytes, guardBytes, s); r != driver.Success {
			return r
		}
		return g.hot.MemcpyDtoHAsync(unsafe.Add(host, guardBytes), end, guardBytes, s)
	})
	if r == driver.Success {
		seen := unsafe.Slice((*byte)(host), 2*guardBytes)
		if i := bytes.LastIndexFunc(seen[:guardBytes], foreign); i >= 0 {
			g.torn = append(g.torn, fmt.Sprintf("%d bytes before an allocation of %d", guardBytes-i, n))
		}
		if i := bytes.IndexFunc(seen[guardBytes:], foreign); i >= 0 {
			g.torn = append(g.torn, fmt.Sprintf("%d bytes behind an allocation of %d", i, n))
		}
	}
	if e := g.table.MemFreeHost(host); r == driver.Success {
		r = e
	}
	if r != driver.Success {
		return r
	}
	delete(g.sizes, at)
	g.out -= n
	return g.table.MemFree(at - guardBytes)
}

// foreign is what is no guard.
func foreign(r rune) bool { return r != guardByte }

// onStream does something on a stream of its own, and waits for it.
func (g *guards) onStream(f func(driver.Stream) driver.Result) driver.Result {
	var s driver.Stream
	if r := g.table.StreamCreate(&s, driver.StreamNonBlocking); r != driver.Success {
		return r
	}
	r := f(s)
	if r == driver.Success {
		r = g.hot.StreamSynchronize(s)
	}
	if e := g.table.StreamDestroy(s); r == driver.Success {
		r = e
	}
	return r
}

// report is what guards were torn since the last report, how much memory was out at
// most, and how much is now.
func (g *guards) report() (torn []string, most, out uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	torn, most, out = g.torn, g.most, g.out
	g.torn, g.most = nil, g.out
	return torn, most, out
}
