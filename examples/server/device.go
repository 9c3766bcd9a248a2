package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/engine/cuda"
)

// placer opens a model on the device that --device asks for.
type placer struct {
	device string // auto, cpu or cuda
	log    *slog.Logger
	find   func(*slog.Logger) ([]paddock.Device, error) // the machine's GPUs, or a test's
	open   func(paddock.Options) (*paddock.Engine, error)
}

// gpus finds the machine's.
func gpus(log *slog.Logger) ([]paddock.Device, error) {
	return cuda.Detect(cuda.Options{Logger: log})
}

// placed is an open model, and why it runs where it does.
type placed struct {
	*paddock.Engine
	why  string
	gpus []paddock.Device
}

// close closes the engine, then the devices.
func (p *placed) close() error { return errors.Join(p.Engine.Close(), closeAll(p.gpus)) }

// place opens the model: with auto on a GPU, if there is one that can run it and has
// the memory, else on the CPU.
func (p *placer) place(o paddock.Options) (*placed, error) {
	if p.device == "cpu" {
		return p.onCPU(o, "the CPU, as --device says")
	}
	found, err := p.find(p.log)
	if len(found) == 0 {
		if p.device == "cuda" {
			return nil, fmt.Errorf("--device cuda: no GPU can be used: %w", err)
		}
		why := fmt.Sprintf("the CPU, as no GPU can be used: %v", err)
		if absent := (*cuda.AbsentError)(nil); errors.As(err, &absent) {
			p.log.Debug("no driver for a GPU", "err", err)
			why = "the CPU, as this machine has no NVIDIA driver"
		}
		return p.onCPU(o, why)
	}
	if err != nil {
		p.log.Warn("a GPU is left out", "err", err)
	}
	gpu := o
	gpu.Devices, gpu.PanelCache = found, ""
	e, err := p.open(gpu)
	for len(gpu.Devices) > 1 && failedThere(err) {
		gpu.Devices = gpu.Devices[1:]
		p.log.Warn("a GPU failed while the model was opened there; the next ones are tried", "err", err)
		e, err = p.open(gpu)
	}
	if err == nil {
		if o.PanelCache != "" {
			p.log.Warn("--panel-cache is not used: it keeps weights as the CPU lays them out, and a GPU serves the model")
		}
		return &placed{e, "a GPU, as it can run the model and has the memory", found}, nil
	}
	err = errors.Join(err, closeAll(found))
	var memory *paddock.MemoryError
	var ranOut *cuda.MemoryError
	var unsupported *cuda.UnsupportedError
	if p.device == "auto" && failedThere(err) && !errors.As(err, &ranOut) { // used up by another process, say, or lost
		p.log.Warn("the GPU's driver failed while the model was opened there; the CPU serves it", "err", err)
		return p.onCPU(o, fmt.Sprintf("the CPU, as the GPU's driver failed: %v", err))
	}
	if p.device == "auto" && (errors.As(err, &memory) || errors.As(err, &ranOut) || errors.As(err, &unsupported)) {
		return p.onCPU(o, fmt.Sprintf("the CPU, as no GPU can take the model: %v", err))
	}
	return nil, err
}

// failedThere tells an error of the one GPU that seemed to be able to take a model: it
// ran out of memory all the same, or its driver failed. Others may take it.
func failedThere(err error) bool {
	var ranOut *cuda.MemoryError
	var call *cuda.DriverError
	return errors.As(err, &ranOut) || errors.As(err, &call)
}

func (p *placer) onCPU(o paddock.Options, why string) (*placed, error) {
	e, err := p.open(o)
	if err != nil {
		return nil, err
	}
	return &placed{e, why, nil}, nil
}

func closeAll(devices []paddock.Device) error {
	var errs []error
	for _, d := range devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
