package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// plainShared is the shared memory that a kernel may have without asking, in bytes.
const plainShared = 48 << 10

// kernel is an entry point of a module.
type kernel struct {
	name       string
	function   driver.Function
	shared     int // static, in bytes
	maxThreads int // of a block
	dynamic    int // dynamic shared memory that was asked for
}

// kernels are all modules, compiled for a device.
type kernels struct {
	driver  *driver.Driver
	card    driver.Facts
	modules []driver.Module

	mu     sync.Mutex // of kernel.dynamic
	byName map[string]*kernel
}

var entryPoint = regexp.MustCompile(`\.entry\s+(\w+)`)

// loadKernels compiles the modules of a folder and looks their entry points up. It
// runs with a context current.
func loadKernels(d *driver.Driver, card driver.Facts, files fs.FS, log *slog.Logger) (*kernels, error) {
	k := &kernels{driver: d, card: card, byName: map[string]*kernel{}}
	if err := k.load(files, log); err != nil {
		return nil, errors.Join(err, k.unload())
	}
	return k, nil
}

func (k *kernels) load(files fs.FS, log *slog.Logger) error {
	names, err := fs.Glob(files, "*.ptx")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		began := time.Now()
		module, remarks, err := k.driver.LoadModule(text)
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		k.modules = append(k.modules, module)
		log.Info("the driver compiled kernels", "module", name, "took", time.Since(began), "remarks", remarks)
		for _, entry := range entryPoint.FindAllSubmatch(text, -1) {
			if err := k.lookup(module, string(entry[1])); err != nil {
				return fmt.Errorf("module %s: kernel %s: %w", name, entry[1], err)
			}
		}
	}
	return nil
}

func (k *kernels) lookup(m driver.Module, name string) (err error) {
	x := &kernel{name: name}
	if x.function, err = k.driver.Function(m, name); err != nil {
		return err
	}
	if x.shared, err = k.driver.FuncAttribute(x.function, driver.FuncShared); err != nil {
		return err
	}
	if x.maxThreads, err = k.driver.FuncAttribute(x.function, driver.FuncMaxThreads); err != nil {
		return err
	}
	k.byName[name] = x
	return nil
}

func (k *kernels) unload() error {
	var errs []error
	for _, m := range k.modules {
		errs = append(errs, k.driver.UnloadModule(m))
	}
	return errors.Join(errs...)
}

// prepare finds the kernel of a launch, holds its geometry against the device's
// limits, and asks for the shared memory that it needs.
func (k *kernels) prepare(l *launch) (driver.Function, error) {
	x, ok := k.byName[l.kernel]
	if !ok {
		return 0, fmt.Errorf("cuda: no module has a kernel %s", l.kernel)
	}
	fail := func(what string, got, most int) (driver.Function, error) {
		return 0, fmt.Errorf("cuda: kernel %s: %s is %d, must be 1 to %d", l.kernel, what, got, most)
	}
	threads := 1
	for i, axis := range [...]string{"x", "y", "z"} {
		if n := int(l.grid[i]); n < 1 || n > k.card.MaxGrid[i] {
			return fail("the grid in "+axis, n, k.card.MaxGrid[i])
		}
		if n := int(l.block[i]); n < 1 || n > k.card.MaxBlock[i] {
			return fail("the block in "+axis, n, k.card.MaxBlock[i])
		}
		threads *= int(l.block[i])
	}
	if most := min(x.maxThreads, k.card.MaxThreads); threads > most {
		return fail("the threads of a block", threads, most)
	}
	if all := x.shared + int(l.shared); all > k.card.MaxShared {
		return fail("the shared memory of a block, in bytes,", all, k.card.MaxShared)
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
	if err := k.driver.SetFuncAttribute(x.function, driver.FuncMaxDynamic, dynamic); err != nil {
		return fmt.Errorf("kernel %s: %w", x.name, err)
	}
	x.dynamic = dynamic
	return nil
}
