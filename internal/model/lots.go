package model

import (
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/gguf"
)

// lots say which layers see a window.
type lots struct {
	window   int // positions that a windowed layer sees; 0: there are none
	windowed func(l int) bool
}

// readWindow reads the window, of absent positions where the file is silent, and
// says which layers have it: of every period layers all but the last one, or by
// fullFirst the first; of period 0 all. The file may state another period, or each
// layer's lot.
func (t *lots) readWindow(k *keys, layers, absent, period int, fullFirst bool) {
	t.window = k.countOr("attention.sliding_window", absent, 0, math.MaxInt32)
	if kind, _, _, _ := k.file.KindOf(k.name(windowPattern)); kind == gguf.KindArray {
		t.readLots(k, layers)
		return
	}
	period = k.countOr(windowPattern, period, 0, maxLayers)
	full := period - 1
	if fullFirst {
		full = 0
	}
	t.windowed = func(l int) bool { return period == 0 || l%period != full }
}

const windowPattern = "attention.sliding_window_pattern"

// readLots reads for each layer whether it has the window: flags, or numbers that
// are not 0.
func (t *lots) readLots(k *keys, layers int) {
	list, err := k.file.Bools(k.name(windowPattern))
	if numbers, failed := k.file.Ints(k.name(windowPattern)); err != nil && failed == nil {
		err = nil
		for _, n := range numbers {
			list = append(list, n != 0)
		}
	}
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("model: %w", err)
	}
	if k.err == nil && len(list) < layers {
		k.fail(k.name(windowPattern), fmt.Sprintf("of %d layers", len(list)), fmt.Sprintf("of all %d", layers), nil)
	}
	t.windowed = func(l int) bool { return list[l] }
}
