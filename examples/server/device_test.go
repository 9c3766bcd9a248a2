package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/engine/cuda"
)

// card is a device that is only ever asked for its name, and closed.
type card struct {
	paddock.Device
	closed int
}

func (c *card) Close() error {
	c.closed++
	return nil
}

// TestPlace: which device serves, what is said of it, and that devices that are not
// used are closed.
func TestPlace(t *testing.T) {
	broken := errors.New("broken card")
	memory := &paddock.MemoryError{Weights: 2, Available: 1}
	ranOut := &cuda.MemoryError{For: "a runner", Available: -1}
	call := fmt.Errorf("GPU 0: %w", &cuda.DriverError{Call: "cuDevicePrimaryCtxRetain", Code: 46})
	unsupported := &cuda.UnsupportedError{What: "operation", Which: "pool"}
	for _, c := range []struct {
		device string
		cards  int
		find   error // of looking for cards
		fails  error // of opening on a card
		gpu    bool  // serves
		says   string
		err    error // in place of that
	}{
		{"cpu", 1, nil, nil, false, "--device says", nil},
		{"auto", 0, &cuda.AbsentError{}, nil, false, "no NVIDIA driver", nil},
		{"auto", 0, broken, nil, false, "broken card", nil},
		{"auto", 1, nil, nil, true, "a GPU", nil},
		{"auto", 2, broken, nil, true, "a GPU", nil},
		{"auto", 1, nil, memory, false, "no GPU can take the model: engine: the model needs", nil},
		{"auto", 1, nil, ranOut, false, "for a runner the driver has too little memory", nil},
		{"auto", 1, nil, unsupported, false, "pool", nil},
		{"auto", 1, nil, call, false, "the GPU's driver failed: GPU 0: cuda: cuDevicePrimaryCtxRetain: error 46", nil},
		{"auto", 1, nil, broken, false, "", broken},
		{"cuda", 1, nil, nil, true, "a GPU", nil},
		{"cuda", 1, nil, memory, false, "", memory},
		{"cuda", 1, nil, call, false, "", call},
		{"cuda", 0, broken, nil, false, "", broken},
	} {
		var cards []paddock.Device
		for range c.cards {
			cards = append(cards, &card{})
		}
		opened := 0
		p := &placer{
			device: c.device, log: slog.New(slog.DiscardHandler),
			find: func(*slog.Logger) ([]paddock.Device, error) { return cards, c.find },
			open: func(o paddock.Options) (*paddock.Engine, error) {
				opened++
				if len(o.Devices) > 0 && (c.fails != nil || o.PanelCache != "") {
					return nil, c.fails
				}
				if len(o.Devices) == 0 && o.PanelCache != "dir" {
					t.Errorf("%+v: the panel cache is lost", c)
				}
				return &paddock.Engine{}, nil
			},
		}
		got, err := p.place(paddock.Options{PanelCache: "dir"})
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%+v: error %v", c, err)
			}
		} else if err != nil || len(got.gpus) > 0 != c.gpu || !strings.Contains(got.why, c.says) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		for _, d := range cards {
			if closed := d.(*card).closed; c.device != "cpu" && !c.gpu && closed != 1 || c.gpu && closed != 0 {
				t.Errorf("%+v: a card was closed %d times", c, closed)
			}
		}
	}
}

// TestPlaceGoesOn: a GPU on which opening fails, though the model seemed to fit, leaves
// the next ones to be tried; one that is refused for what a model needs does not.
func TestPlaceGoesOn(t *testing.T) {
	ranOut := &cuda.MemoryError{For: "the weights", Available: 1}
	for _, c := range []struct {
		device string
		fails  []error // of opening on three, two and one
		opened int     // times, on the CPU too
		gpu    bool
	}{
		{"auto", []error{nil}, 1, true},
		{"auto", []error{ranOut, nil}, 2, true},
		{"cuda", []error{&cuda.DriverError{Code: 46}, ranOut, nil}, 3, true},
		{"auto", []error{ranOut, ranOut, ranOut}, 4, false},
		{"auto", []error{ranOut, &paddock.MemoryError{}}, 3, false},
		{"auto", []error{&cuda.UnsupportedError{}}, 2, false},
	} {
		cards := []paddock.Device{&card{}, &card{}, &card{}}
		opened := 0
		p := &placer{
			device: c.device, log: slog.New(slog.DiscardHandler),
			find: func(*slog.Logger) ([]paddock.Device, error) { return cards, nil },
			open: func(o paddock.Options) (*paddock.Engine, error) {
				opened++
				if n := len(o.Devices); n > 0 {
					if n != 4-opened || o.Devices[n-1] != cards[2] {
						t.Errorf("%+v: time %d is on %d cards", c, opened, n)
					}
					if err := c.fails[opened-1]; err != nil {
						return nil, err
					}
				}
				return &paddock.Engine{}, nil
			},
		}
		got, err := p.place(paddock.Options{})
		if err != nil || len(got.gpus) > 0 != c.gpu || opened != c.opened {
			t.Errorf("%+v: opened %d times, %+v, %v", c, opened, got, err)
		}
		for i, d := range cards {
			if closed := d.(*card).closed; closed != map[bool]int{true: 0, false: 1}[c.gpu] {
				t.Errorf("%+v: card %d was closed %d times", c, i, closed)
			}
		}
	}
}
