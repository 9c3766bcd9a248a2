package cpu

import (
	"slices"
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
)

// The tile unit is asked for by a model that has a use for it, not by the device,
// and never with NoAMX.
func TestDeviceAsksForTilesLate(t *testing.T) {
	if d := New(Options{NoAMX: true}); d.amx || d.Name() == "cpu/amx" {
		t.Errorf("with NoAMX: %s, asks for tiles: %v", d.Name(), d.amx)
	}
	d := New(Options{})
	if has := slices.Contains(kern.Supported(), kern.AMX); d.amx != has || d.Name() == "cpu/amx" {
		t.Errorf("%s, asks for tiles: %v, of a machine with tiles: %v", d.Name(), d.amx, has)
	}
	// Were it to ask on this machine, New(AMX) would panic or answer.
	d.amx = true
	for _, w := range [][]weight{nil, {{vector: []float32{1}}}} {
		if k := d.kernels(w); k != d.kern {
			t.Errorf("kernels of %v for %d weights without a use for tiles", k.Level(), len(w))
		}
	}
}
