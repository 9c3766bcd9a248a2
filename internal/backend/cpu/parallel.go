package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// inParallel calls do with 0 to n − 1 from so many goroutines, and returns the first
// error, after which no further calls are begun.
func inParallel(workers, n int, do func(i int) error) error {
	var next atomic.Int64
	var first atomic.Pointer[error]
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for first.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	group.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}

// faultError returns what a function defers so that a fault in mapped memory which its
// goroutine meets becomes its error: the file was cut short. Any other panic goes on.
func faultError(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		*err = fmt.Errorf("it was cut short: %w", fault)
	}
}
