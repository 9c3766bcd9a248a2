package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/prog"
)

// Options choose a device and how it is used. The zero value takes the first one.
type Options struct {
	Ordinal int // which device, as the driver numbers them
	// Driver is the driver to use; nil: the machine's. A Device does not close one that
	// it was given.
	Driver *driver.Driver
	// NoGraphs launches every kernel of every step one by one. It changes no bit.
	NoGraphs bool
	// Logger is told what was compiled and how long that took; nil: nobody.
	Logger *slog.Logger

	// For tests:

	// Modules hold other kernels, NAME.ptx; nil: those of ptx.
	Modules fs.FS
	// Apart makes an allocation of every buffer, so that what is written beyond one
	// does not fall into the next.
	Apart bool
	// Unfused rounds by a launch of its own wherever rows are rounded, see fuse. It changes
	// no bit.
	Unfused bool
	// Rubbish is what a runner's memory holds before the first step, but for the cache,
	// which is zeros always.
	Rubbish Rubbish
}

// Rubbish is what memory holds that nothing may read before it is written.
type Rubbish uint8

const (
	Zeros Rubbish = iota
	Left          // what was there: the interpreter counts it as never written
	NaNs          // for cards, where nobody counts
)

// value is each byte of it.
func (r Rubbish) value() byte {
	if r == NaNs {
		return 0xff
	}
	return 0
}

// leastMajor is the compute capability that the kernels are compiled for: 8.0.
const leastMajor = 8

// Device is one GPU. Its methods are safe for concurrent use. What it holds is given
// back when it and all its models and runners are closed, in whatever order.
type Device struct {
	opts   Options
	driver *driver.Driver
	facts  driver.Facts
	log    *slog.Logger

	mu      sync.Mutex
	context driver.Context // 0: not asked for yet
	holders int            // the device itself if it is open, models, runners
	closed  bool
	kernels *kernels // nil: not read yet
}

// Open makes a device ready to be asked: nothing is compiled and none of its memory
// taken, not even what the driver takes for itself once the device is used. The error is a *driver.AbsentError where there
// is no driver, an *UnsupportedError where the device is too old.
func Open(o Options) (*Device, error) {
	d := &Device{opts: o, driver: o.Driver, log: o.Logger, holders: 1}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.driver == nil {
		var err error
		if d.driver, err = driver.Open(); err != nil {
			return nil, err
		}
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.closeDriver())
	}
	return d, nil
}

func (d *Device) open() error {
	n, err := d.driver.Count()
	if err != nil {
		return err
	}
	if d.opts.Ordinal < 0 || d.opts.Ordinal >= n {
		return &backend.LimitError{What: "number of the CUDA device", Got: int64(d.opts.Ordinal), Low: 0, High: int64(n) - 1}
	}
	if d.facts, err = d.driver.Facts(d.opts.Ordinal); err != nil {
		return err
	}
	if d.facts.Major < leastMajor {
		return &UnsupportedError{What: "a GPU of compute capability", Which: fmt.Sprintf("%d.%d (%s), less than %d.0,", d.facts.Major, d.facts.Minor, d.facts.Name, leastMajor)}
	}
	return nil
}

// Name implements backend.Device.
func (d *Device) Name() string { return "cuda/" + d.facts.Name }

// Facts are what the driver says of the device.
func (d *Device) Facts() driver.Facts { return d.facts }

// Memory implements backend.Memory: what is free on the device now, whoever has the
// rest, less what is kept back (see keptBack). Of a closed device it is not known.
func (d *Device) Memory() (available int64, known bool) {
	if d.hold() != nil {
		return 0, false
	}
	err := d.use(func() error {
		free, _, err := d.driver.MemInfo()
		available = max(int64(free)-keptBack(d.facts.Memory), 0)
		return err
	})
	err = errors.Join(err, d.drop())
	return available, err == nil
}

// SharesSystemMemory implements backend.SharedMemory.
func (d *Device) SharesSystemMemory() bool { return d.facts.SharesSystemMemory }

// Plan implements backend.Device.
func (d *Device) Plan(p *prog.Program, src backend.Source) (backend.Plan, error) {
	return newPlan(d, p, src)
}

// Load implements backend.Device.
func (d *Device) Load(p *prog.Program, src backend.Source, progress func(done, total int64)) (backend.Model, error) {
	pl, err := newPlan(d, p, src)
	if err != nil {
		return nil, err
	}
	if err := d.hold(); err != nil {
		return nil, err
	}
	m := &model{plan: pl, holders: 1}
	// What any runner needs is compiled first: a driver that can't is found before minutes of loading.
	if err = d.compile(pl.kernelsOfAny()); err == nil {
		err = m.load(src, progress)
	}
	if err != nil {
		return nil, errors.Join(d.short("the model", err), m.Close())
	}
	return m, nil
}

// compile makes kernels ready that are not.
func (d *Device) compile(names []string) error {
	k, err := d.known()
	if err != nil {
		return err
	}
	return k.compile(names)
}

// known are the kernels, compiled or not.
func (d *Device) known() (_ *kernels, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kernels == nil {
		files := d.opts.Modules
		if files == nil {
			files = ptx.Files
		}
		d.kernels, err = readKernels(d, files)
	}
	return d.kernels, err
}

// use calls f on a thread whose context is the device's.
func (d *Device) use(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := d.retain()
	if err != nil {
		return err
	}
	if err := d.driver.SetCurrent(c); err != nil {
		return err
	}
	err = f()
	if e := d.driver.SetCurrent(0); err == nil {
		err = e
	}
	return err
}

// retain is the device's context, which is made when it is first wanted: it takes
// hundreds of MB of the device, of which nothing may ever be used.
func (d *Device) retain() (driver.Context, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.context != 0 {
		return d.context, nil
	}
	if d.holders == 0 {
		return 0, errClosed
	}
	var err error
	d.context, err = d.driver.Retain(d.facts.Device)
	return d.context, err
}

// hold takes a share in the device; drop gives it back.
func (d *Device) hold() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.holders++
	return nil
}

// drop gives a share back; the last one ends the device.
func (d *Device) drop() error {
	d.mu.Lock()
	d.holders--
	last, context, kernels := d.holders == 0, d.context, d.kernels
	d.mu.Unlock()
	if !last {
		return nil
	}
	var err error
	if context != 0 { // else nothing was compiled either
		if kernels != nil {
			err = d.use(kernels.unload)
		}
		err = errors.Join(err, d.driver.Release(d.facts.Device))
	}
	return errors.Join(err, d.closeDriver())
}

func (d *Device) closeDriver() error {
	if d.opts.Driver != nil {
		return nil
	}
	return d.driver.Close()
}

// Close implements backend.Device. Models and runners stay usable until they are
// closed themselves; a second call does nothing.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	return d.drop()
}
