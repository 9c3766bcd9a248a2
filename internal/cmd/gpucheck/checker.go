package main

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/fakedriver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/cmd/gpucheck/kernels"
)

// checker runs the sections and keeps what they found. It belongs to one goroutine,
// which is locked to its thread while bare driver calls are made.
type checker struct {
	c     *config
	began time.Time

	mu      sync.Mutex // of what is printed also when a section hangs
	section string
	rows    []row
	shown   int // of rows

	driver  *driver.Driver
	meter   *meter // before the driver's library; off but while steps are measured
	facts   driver.Facts
	dev     *cuda.Device       // of the backend, on driver; nil: not opened yet
	fake    *fakedriver.Driver // with -simulate
	files   fs.FS              // our own kernels
	serving fs.FS              // the backend's
	peaks   peaks
}

// open starts the driver.
func open(c *config) (*checker, error) {
	k := &checker{c: c, began: time.Now(), files: kernels.Files, serving: ptx.Files}
	if c.simulate {
		k.fake = fakedriver.New(fakedriver.Options{Card: fakedriver.Card{Name: "an interpreter, no card"}})
	}
	var err error
	k.driver, err = k.another(func(l driver.Library) driver.Library {
		k.meter = newMeter(l)
		return k.meter
	})
	if err != nil {
		return nil, err
	}
	n, err := k.driver.Count()
	if err == nil && (c.ordinal < 0 || c.ordinal >= n) {
		err = fmt.Errorf("-device is %d, the driver has %d devices", c.ordinal, n)
	}
	if err == nil {
		k.facts, err = k.driver.Facts(c.ordinal)
	}
	if err != nil {
		return nil, errors.Join(err, k.driver.Close())
	}
	return k, nil
}

// another opens the driver, once more maybe, with something put before its library.
func (k *checker) another(wrap func(driver.Library) driver.Library) (*driver.Driver, error) {
	if k.fake != nil {
		return driver.New(wrap(k.fake.Library()))
	}
	return driver.OpenWith(wrap)
}

// device is the backend's device. It is opened once: to compile the kernels takes the
// driver longer than most of what is checked here.
func (k *checker) device() (*cuda.Device, error) {
	var err error
	if k.dev == nil {
		k.dev, err = cuda.Open(cuda.Options{Driver: k.driver, Ordinal: k.c.ordinal})
	}
	return k.dev, err
}

func (k *checker) since() time.Duration { return time.Since(k.began) }

func (k *checker) close() error {
	if k.dev != nil {
		if err := k.dev.Close(); err != nil {
			k.fail("closing the device", k.why(err))
		}
	}
	if k.fake != nil {
		complaint := ""
		if live := k.fake.Live(); len(live) > 0 {
			complaint = fmt.Sprint(live)
		}
		k.judge("given back", complaint, "nothing is left in the driver")
	}
	return k.driver.Close()
}

// why is an error, with what the interpreter saw where it is one.
func (k *checker) why(err error) string {
	if k.fake != nil && k.fake.Fault() != nil {
		return fmt.Sprintf("%v (%v)", err, k.fake.Fault())
	}
	return err.Error()
}

// describe says what card it is.
func (k *checker) describe() error {
	f := k.facts
	v, err := k.driver.Version()
	if err != nil {
		return err
	}
	k.pass(f.Name, fmt.Sprintf("compute capability %d.%d, %d multiprocessors, %.1f GiB, driver for CUDA %d.%d, %s",
		f.Major, f.Minor, f.Multiprocessors, float64(f.Memory)/(1<<30), v/1000, v%1000/10, f.UUID))
	k.pass("limits", fmt.Sprintf("blocks of %d threads (%v by axis) with %d bytes of shared memory, grids of %v, memory of its own: %v",
		f.MaxThreads, f.MaxBlock, f.MaxShared, f.MaxGrid, !f.SharesSystemMemory))
	if f.Major < 8 {
		return fmt.Errorf("the kernels need compute capability 8.0, this is %d.%d", f.Major, f.Minor)
	}
	return nil
}

// bare calls f with a bench of bare driver calls, on a thread where the card's context
// is current, and our own kernels loaded.
func (k *checker) bare(f func(*bare) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	context, err := k.driver.Retain(k.facts.Device)
	if err != nil {
		return err
	}
	b := &bare{driver: k.driver, modules: map[string]driver.Module{}}
	err = k.driver.SetCurrent(context)
	if err == nil {
		if err = b.open(k.files); err == nil {
			err = f(b)
		}
		err = errors.Join(err, b.close(), k.driver.SetCurrent(0))
	}
	return errors.Join(err, k.driver.Release(k.facts.Device))
}
