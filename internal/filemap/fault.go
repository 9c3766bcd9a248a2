package filemap

import (
	"runtime"
	"runtime/debug"
	"unsafe"
)

// guard runs fn and turns a memory fault within data into what fault makes of
// its position. Any other panic goes on: it is a bug and not a file's fault.
func guard(data []byte, fault func(off uint64) error, fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if off, ok := faultWithin(data, r); ok {
			err = fault(off)
			return
		}
		panic(r)
	}()
	return fn()
}

// faultWithin tells whether r is a memory fault in data, and where.
func faultWithin(data []byte, r any) (uint64, bool) {
	fault, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return 0, false
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	off := fault.Addr() - base
	return uint64(off), off < uintptr(len(data))
}
