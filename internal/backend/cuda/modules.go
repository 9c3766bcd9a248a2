package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
)

// maxCompilers bounds the modules that are compiled at the same time: the driver takes
// a core for each.
const maxCompilers = 8

// module is PTX of some kernels. The driver compiles it when the first of them is
// wanted: all modules together take it long, and a model needs a few.
type module struct {
	name    string
	text    []byte
	kernels []*kernel
	handle  driver.Module
	ready   bool // compiled, all of kernels known
}

var entryPoint = regexp.MustCompile(`\.entry\s+(\w+)`)

// readKernels finds the kernels of a folder's modules. Nothing is compiled.
func readKernels(d *Device, files fs.FS) (*kernels, error) {
	texts, err := ptx.Read(files)
	if err != nil {
		return nil, err
	}
	k := &kernels{device: d, byName: map[string]*kernel{}}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		m := &module{name: name, text: texts[name]}
		for _, entry := range entryPoint.FindAllSubmatch(m.text, -1) {
			x := &kernel{name: string(entry[1]), module: m}
			m.kernels = append(m.kernels, x)
			k.byName[x.name] = x
		}
		k.modules = append(k.modules, m)
	}
	return k, nil
}

// compile makes kernels ready, with all others of their modules: several modules at a
// time, the largest first, each on a thread of its own. What was compiled before an
// error stays.
func (k *kernels) compile(names []string) error {
	k.compiling.Lock()
	defer k.compiling.Unlock()
	var wanted []*module
	for _, name := range names {
		x := k.byName[name]
		if x == nil {
			return fmt.Errorf("cuda: no module has a kernel %s", name)
		}
		if !k.compiled(x.module) && !slices.Contains(wanted, x.module) {
			wanted = append(wanted, x.module)
		}
	}
	slices.SortStableFunc(wanted, func(a, b *module) int { return len(b.text) - len(a.text) })
	errs := make([]error, len(wanted))
	var next atomic.Int64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxCompilers, len(wanted)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(wanted) && !failed.Load(); i = int(next.Add(1)) - 1 {
				m := wanted[i]
				if err := k.device.use(func() error { return k.load(m) }); err != nil {
					errs[i] = fmt.Errorf("module %s: %w", m.name, err)
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// compiled tells whether a module's kernels are ready.
func (k *kernels) compiled(m *module) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return m.ready
}

// load compiles one module. It runs with a context current.
func (k *kernels) load(m *module) error {
	d := k.device.driver
	began := time.Now()
	handle, remarks, err := d.LoadModule(m.text)
	if err != nil {
		return err
	}
	k.device.log.Info("the driver compiled kernels", "module", m.name, "took", time.Since(began), "remarks", remarks)
	found := make([]kernel, len(m.kernels))
	for i, x := range m.kernels {
		if err := found[i].ask(d, handle, x.name); err != nil {
			return errors.Join(fmt.Errorf("kernel %s: %w", x.name, err), d.UnloadModule(handle))
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, x := range m.kernels {
		x.function, x.shared, x.maxThreads = found[i].function, found[i].shared, found[i].maxThreads
	}
	m.handle, m.ready = handle, true
	return nil
}

// ask is what the driver knows of a kernel.
func (x *kernel) ask(d *driver.Driver, m driver.Module, name string) (err error) {
	if x.function, err = d.Function(m, name); err != nil {
		return err
	}
	if x.shared, err = d.FuncAttribute(x.function, driver.FuncShared); err != nil {
		return err
	}
	x.maxThreads, err = d.FuncAttribute(x.function, driver.FuncMaxThreads)
	return err
}

// unload gives back what was compiled. It runs with a context current; nobody uses a
// kernel any more.
func (k *kernels) unload() error {
	var errs []error
	for _, m := range k.modules {
		if m.ready {
			m.ready = false
			errs = append(errs, k.device.driver.UnloadModule(m.handle))
		}
	}
	return errors.Join(errs...)
}
