package cpu_test

import (
	"fmt"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/backendtest"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/backend/ref"
	"github.com/paddock-go/paddock/internal/quant"
)

// devices are all levels of this machine, with 1, 2 and 3 workers; of the
// portable one, which is slow, 2 do.
func devices() []*cpu.Device {
	var list []*cpu.Device
	for _, level := range kern.Supported() {
		for threads := 1; threads <= 3; threads++ {
			if level == kern.Portable && len(kern.Supported()) > 1 && threads != 2 {
				continue
			}
			list = append(list, cpu.New(cpu.Options{Threads: threads, Level: &level}))
		}
	}
	return list
}

func TestConform(t *testing.T) {
	var list []backend.Device
	for _, d := range devices() {
		list = append(list, d)
	}
	backendtest.RunConform(t, ref.New(ref.Options{}), cpu.Poison, list...)
}

// TestEncoders takes one device of each level: the ops of encoders have no
// kernels of their own.
func TestEncoders(t *testing.T) {
	var list []backend.Device
	for _, d := range devices() {
		if d.Threads() == 2 {
			list = append(list, d)
		}
	}
	backendtest.RunEncoders(t, ref.New(ref.Options{}), cpu.Poison, list...)
}

func TestLaw(t *testing.T) {
	for i, d := range devices() {
		if len(kern.Supported()) > 1 && i > 0 && d.Name() == "cpu/portable" {
			continue // slow, and cut into batches by the code of all levels
		}
		t.Run(fmt.Sprintf("%s/%d", d.Name(), d.Threads()), func(t *testing.T) {
			backendtest.RunLaw(t, d, uint64(i), cpu.Poison)
		})
	}
}

// TestLawFormats is the law for each format alone, on the fastest level. The
// seed's model has inner dimensions that blocks of 256 fit.
func TestLawFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes without the kernels; TestLaw mixes the formats")
	}
	d := cpu.New(cpu.Options{Threads: 2})
	for _, f := range quant.Formats() {
		t.Run(f.Name, func(t *testing.T) { backendtest.RunLaw(t, d, 4, cpu.Poison, f.Type) })
	}
}

func TestGolden(t *testing.T) {
	backendtest.RunGolden(t, cpu.New(cpu.Options{}), backendtest.Goldens(t))
}

func TestEmbeddings(t *testing.T) { backendtest.RunEmbeddings(t, cpu.New(cpu.Options{})) }

// TestGoldenSame holds one device of each level against the definition.
func TestGoldenSame(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes without the kernels, and with the race detector")
	}
	var list []backend.Device
	for _, d := range devices() {
		if d.Threads() == 2 {
			list = append(list, d)
		}
	}
	backendtest.RunGoldenSame(t, ref.New(ref.Options{}), backendtest.Goldens(t), list...)
}

func TestGoldenLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes without the kernels, and with the race detector")
	}
	backendtest.RunGoldenLaw(t, cpu.New(cpu.Options{Threads: 2}), backendtest.Goldens(t), cpu.Poison)
}

func TestGoldenEmbedLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes without the kernels, and with the race detector")
	}
	backendtest.RunGoldenEmbedLaw(t, ref.New(ref.Options{}), cpu.New(cpu.Options{Threads: 2}), cpu.Poison)
}

func TestGoldenWarm(t *testing.T) {
	backendtest.RunGoldenWarm(t, cpu.New(cpu.Options{Threads: 2}), backendtest.Goldens(t))
}

func TestStory(t *testing.T) { backendtest.RunStory(t, cpu.New(cpu.Options{})) }
