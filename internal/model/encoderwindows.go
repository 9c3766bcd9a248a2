package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// windows says which layers of an encoder see everything and which a window, and
// by which angles each of the two kinds rotates.
type windows struct {
	lots
	full, win prog.Rope
}

// readWindows reads the keys of windows and rotary positions: of every period
// layers the last one sees everything, or by fullFirst the first. What stretches
// positions does so where everything is seen.
func readWindows(k *keys, s *Spec, period int, fullFirst bool) *windows {
	w := &windows{}
	full := readRope(k, s)
	w.readWindow(k, s.Layers, 0, period, fullFirst)
	near := full.plain().based(k, "rope.freq_base_swa", 10000)
	if k.err == nil && full.scaling == ropeLongRoPE {
		k.fail(k.name("rope.scaling.type"), string(full.scaling), fmt.Sprintf("none, linear or yarn for architecture %s", s.Arch), ErrUnsupported)
	}
	if k.err == nil {
		w.full, w.win = full.lower(prog.Halves), near.lower(prog.Halves)
	}
	return w
}

// layer returns the angles and the window of a layer; 0: it sees everything.
func (w *windows) layer(l int) (prog.Rope, int) {
	if w.window == 0 || !w.windowed(l) {
		return w.full, 0
	}
	return w.win, w.window
}
