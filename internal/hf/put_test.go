package hf

import (
	"math"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// TestPut: what Q8_0 can't hold is refused, and what it can comes back as numbers.
func TestPut(t *testing.T) {
	f, _ := quant.Lookup(quant.Q8_0)
	for v, held := range map[float32]bool{1: true, 127 * 65504: true, -127 * 65504: true, 1e7: false, -3e38: false, float32(math.Inf(1)): false, float32(math.NaN()): false} {
		dst, out := make([]byte, f.BlockBytes), make([]float32, 32)
		values := make([]float32, 32)
		values[3] = v
		err := put(dst, f, values)
		if (err == nil) != held || err != nil && !strings.Contains(err.Error(), "Q8_0") && !strings.Contains(err.Error(), "q8_0") {
			t.Errorf("%v: %v", v, err)
		}
		f.Decode(out, dst)
		for i, x := range out {
			if x-x != 0 {
				t.Errorf("%v: value %d of its block is %v", v, i, x)
			}
		}
	}
}
