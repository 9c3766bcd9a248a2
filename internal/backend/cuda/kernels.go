package cuda

import (
	"fmt"
	"sync"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// plainShared is the shared memory that a kernel may have without asking, in bytes.
const plainShared = 48 << 10

// kernel is an entry point of a module.
type kernel struct {
	name   string
	module *module

	// Known once the module is compiled:

	function   driver.Function
	shared     int // static, in bytes
	maxThreads int // of a block
	dynamic    int // dynamic shared memory that was asked for
}

// kernels are what a device's modules have. Safe for concurrent use.
type kernels struct {
	device  *Device
	modules []*module
	byName  map[string]*kernel

	compiling sync.Mutex // one caller compiles at a time, with workers of its own
	mu        sync.Mutex // of what modules and kernels know once compiled
}

// find is a kernel that is compiled, if need be now.
func (k *kernels) find(name string) (*kernel, error) {
	if x := k.byName[name]; x != nil && k.compiled(x.module) {
		return x, nil
	}
	if err := k.compile([]string{name}); err != nil {
		return nil, err
	}
	return k.byName[name], nil
}

// prepare finds the kernel of a launch, holds its geometry against the device's
// limits, and asks for the shared memory that it needs.
func (k *kernels) prepare(l *launch) (driver.Function, error) {
	x, err := k.find(l.kernel)
	if err != nil {
		return 0, err
	}
	card := &k.device.facts
	fail := func(what string, got, most int) (driver.Function, error) {
		return 0, fmt.Errorf("cuda: kernel %s: %s is %d, must be 1 to %d", l.kernel, what, got, most)
	}
	threads := 1
	for i, axis := range [...]string{"x", "y", "z"} {
		if n := int(l.grid[i]); n < 1 || n > card.MaxGrid[i] {
			return fail("the grid in "+axis, n, card.MaxGrid[i])
		}
		if n := int(l.block[i]); n < 1 || n > card.MaxBlock[i] {
			return fail("the block in "+axis, n, card.MaxBlock[i])
		}
		threads *= int(l.block[i])
	}
	if most := min(x.maxThreads, card.MaxThreads); threads > most {
		return fail("the threads of a block", threads, most)
	}
	if all := x.shared + int(l.shared); all > card.MaxShared {
		return fail("the shared memory of a block, in bytes,", all, card.MaxShared)
	}
	return x.function, k.share(x, int(l.shared))
}

// share asks for dynamic shared memory, if a launch needs more than was asked for yet
// and than is had unasked.
func (k *kernels) share(x *kernel, dynamic int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if x.shared+dynamic <= plainShared || dynamic <= x.dynamic {
		return nil
	}
	if err := k.device.driver.SetFuncAttribute(x.function, driver.FuncMaxDynamic, dynamic); err != nil {
		return fmt.Errorf("kernel %s: %w", x.name, err)
	}
	x.dynamic = dynamic
	return nil
}
