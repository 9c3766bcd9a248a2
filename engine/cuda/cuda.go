// Package cuda gives an engine the machine's NVIDIA GPUs:
//
//	eng, err := paddock.Open("model.gguf", paddock.Options{Devices: cuda.Devices()})
//
// It needs the driver that the card has anyway and no toolkit: the driver's library is
// loaded when it is asked for, so that a program that imports this package runs, on the
// CPU, where there is none. Its importers depend on the C library's loader on Linux,
// also when they are built without cgo; programs that do not import it stay static.
package cuda

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// Options say how GPUs are used. The zero value is what most programs want.
type Options struct {
	NoGraphs bool         // launch every kernel of every step on its own: slower, the same answers
	Logger   *slog.Logger // is told what was compiled and how long that took; nil: nobody
}

// Why a GPU is not used, for errors.As.
type (
	// AbsentError: the machine has no driver of NVIDIA's, or none that can be loaded.
	AbsentError = driver.AbsentError
	// UnsupportedError: something of a model, or of the card, that this backend does not
	// do. Open returns it too; the CPU then serves the model.
	UnsupportedError = cuda.UnsupportedError
	// MemoryError: the card ran out of memory while a model was loaded, though what was
	// planned had seemed to fit: something else took it meanwhile, or the driver itself.
	MemoryError = cuda.MemoryError
	// DriverError: a call to the driver that failed.
	DriverError = driver.Error
)

// Devices lists the GPUs that models can run on, in the driver's order (which
// CUDA_VISIBLE_DEVICES sets); none where there are none, or no driver. With none in
// Options.Devices an engine uses the CPU. Detect says why the list is short. Safe for
// concurrent use.
func Devices() []engine.Device {
	list, _ := Detect(Options{})
	return list
}

// Detect lists the GPUs that models can run on, and says what is wrong with the others:
// an *AbsentError where there is no driver, else the errors of all cards that are left
// out. Both results may hold something. Nothing is compiled and none of a card's memory
// taken before a model is to be opened on it; who is done with a device before the
// process ends closes it, after the engines on it. The driver's library stays loaded. Safe for concurrent use.
func Detect(o Options) ([]engine.Device, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	return devices(d, o)
}

// devices are the usable ones of a driver, which stays open for them.
func devices(d *driver.Driver, o Options) ([]engine.Device, error) {
	n, err := d.Count()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &UnsupportedError{What: "machine", Which: "without a device that the driver shows (CUDA_VISIBLE_DEVICES may hide them)"}
	}
	var list []engine.Device
	var errs []error
	for i := range n {
		c, err := cuda.Open(cuda.Options{Ordinal: i, Driver: d, NoGraphs: o.NoGraphs, Logger: o.Logger})
		if err != nil {
			errs = append(errs, fmt.Errorf("GPU %d: %w", i, err))
			continue
		}
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}
