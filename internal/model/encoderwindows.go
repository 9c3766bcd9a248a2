package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/prog"
)

// windows says which layers of an encoder see everything and which a window, and
// by which angles each of the two kinds rotates.
type windows struct {
	every, at int // layer l sees everything where l mod every is at
	window    int
	full, win prog.Rope
}

// readWindows reads the keys of windows and rotary positions. every is the
// architecture's own distance of layers that see everything.
func readWindows(k *keys, s *Spec, every, at int) *windows {
	w := &windows{every: every, at: at}
	full := readRope(k, s)
	w.window = k.countOr("attention.sliding_window", 0, 0, math.MaxInt32)
	const pattern = "attention.sliding_window_pattern"
	if k.has(pattern) {
		w.every = k.count(pattern, 1, maxLayers)
		if at > 0 {
			w.at = w.every - 1
		}
	}
	if k.err != nil {
		return w
	}
	if full.scaling != ropeNone {
		k.fail(k.name("rope.scaling.type"), string(full.scaling), fmt.Sprintf("none for architecture %s", s.Arch), ErrUnsupported)
		return w
	}
	near := *full
	if near.base = k.positiveOr("rope.freq_base_swa", 10000); k.err == nil && near.base <= 1 {
		k.fail(k.name("rope.freq_base_swa"), near.base, "above 1", nil)
		return w
	}
	w.full, w.win = full.lower(prog.Halves), near.lower(prog.Halves)
	return w
}

// layer returns the angles and the window of a layer; 0: it sees everything.
func (w *windows) layer(l int) (prog.Rope, int) {
	if w.window == 0 || l%w.every == w.at {
		return w.full, 0
	}
	return w.win, w.window
}
