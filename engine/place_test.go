package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/metrics"
)

// carded is the CPU dressed up as a device with memory of its own.
type carded struct {
	*stages
	name      string
	available int64
}

func (c *carded) Name() string          { return c.name }
func (c *carded) Memory() (int64, bool) { return c.available, true }

// TestPlace: the first device that can run the model and has the memory takes it, the
// reason says what kept the others from it, and nothing is loaded on those.
func TestPlace(t *testing.T) {
	device := func(name, fail string, available int64) *carded {
		c := cpu.New(cpu.Options{Threads: 1})
		t.Cleanup(func() { c.Close() })
		return &carded{&stages{Device: c, fail: fail}, name, available}
	}
	small, odd, good, spare := device("small", "", 1<<10), device("odd", "plan", 1<<40), device("good", "", 1<<40), device("spare", "", 1<<40)
	files := synthFile(t, "tiny-llama")
	o := Options{Metrics: metrics.Off, Devices: []Device{small, odd, good, spare}}
	e, err := OpenFS(files, "m.gguf", o)
	if err != nil {
		t.Fatal(err)
	}
	var choice Choice
	for _, c := range e.Model().Choices {
		if c.What == "device" {
			choice = c
		}
	}
	if choice.Choice != "good" || !strings.Contains(choice.Why, "small: ") || !strings.Contains(choice.Why, "odd: "+errStage.Error()) {
		t.Errorf("the device is %q because of %q", choice.Choice, choice.Why)
	}
	if small.loads+odd.loads+spare.loads != 0 || good.loads != 1 {
		t.Errorf("loads: small %d, odd %d, good %d, spare %d", small.loads, odd.loads, good.loads, spare.loads)
	}
	if a := e.Model().Memory.Available; a != 1<<40 {
		t.Errorf("%d bytes were available", a)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	o.Devices = []Device{small, odd}
	_, err = OpenFS(files, "m.gguf", o)
	var memory *MemoryError
	if !errors.As(err, &memory) || memory.Available != 1<<10 || !errors.Is(err, errStage) {
		t.Errorf("with no device that would do: %v", err)
	}
	if good.models+good.runs != 0 {
		t.Errorf("%d models and %d runners are open", good.models, good.runs)
	}
}

// integrated is a card whose memory is the system's.
type integrated struct{ *carded }

func (integrated) SharesSystemMemory() bool { return true }

// TestPlaceIntegrated: of memory that the system has too, a model may have what both
// say is available, and the cache the share that it has on the CPU.
func TestPlaceIntegrated(t *testing.T) {
	files := synthFile(t, "tiny-llama")
	for _, c := range []struct{ device, system, want int64 }{{1 << 40, 1 << 30, 1 << 30}, {1 << 30, 1 << 40, 1 << 30}} {
		d := cpu.New(cpu.Options{Threads: 1})
		o := Options{Metrics: metrics.Off, Devices: []Device{integrated{&carded{&stages{Device: d}, "part", c.device}}}}
		e, err := OpenFS(files, "m.gguf", have(c.system, nil, o))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Model().Memory.Available; got != c.want {
			t.Errorf("of %d and %d, %d are available", c.device, c.system, got)
		}
		if err := errors.Join(e.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
}
