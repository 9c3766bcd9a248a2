package cpu

import (
	"testing"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/quant"
)

// The items of a matrix cover each of its panels once, and runs are of panels
// with 16 outputs.
func TestStripesCoverEveryPanel(t *testing.T) {
	f, _ := kern.Lookup(quant.Q4_0)
	for _, rows := range []int{1, 15, 16, 17, 64, 127, 128, 129, 1000, 1024, 3072, 4099} {
		for _, workers := range []int{1, 2, 3, 16} {
			m := &kern.Matrix{Format: f, Rows: rows, Cols: 1024}
			var s stripes
			items := s.cut(m, workers)
			taken := make([]int, m.Panels())
			for item := range items {
				from, n, apart, runs := s.panels(item, m.Panels())
				if n > apart || runs != 1 && (from+(runs-1)*apart+n)*kern.Lanes > rows {
					t.Errorf("%d rows, %d workers: item %d has %d runs of %d panels, %d apart, from %d on", rows, workers, item, runs, n, apart, from)
				}
				for run := range runs {
					for p := range n {
						taken[from+run*apart+p]++
					}
				}
			}
			for p, n := range taken {
				if n != 1 {
					t.Errorf("%d rows, %d workers: panel %d is in %d items", rows, workers, p, n)
				}
			}
		}
	}
}
