package kern

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// Stripes gives the bits of the whole, whatever the runs, and writes no output
// but its own.
func TestStripes(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 19))
	for _, f := range formatsNow() {
		p := newProduct(r, f, fillers[0], 16*13+5, 256, 6)
		m := p.matrix()
		eachLevel(t, func(t *testing.T, k *Kernels) {
			a := NewActs(f.Act, p.n, p.cols)
			for i := range p.n {
				k.Round(a, i, p.x[i*p.cols:(i+1)*p.cols])
			}
			for _, c := range []struct{ row0, row1, panel, n, apart int }{
				{0, 1, 0, 3, 3}, {2, 3, 1, 2, 3}, {0, 6, 0, 3, 3}, {1, 5, 0, 1, 4}, {3, 6, 2, 2, 3}, {4, 4, 0, 1, 1}, {0, 2, 5, 0, 1},
			} {
				what := fmt.Sprintf("%s, %+v", f.Name, c)
				out, want := make([]float32, p.n*p.rows), make([]float32, p.n*p.rows)
				var sc LinearScratch
				k.Stripes(&sc, m, a, c.row0, c.row1, c.panel, c.n, c.apart, out, p.rows)
				for row := c.row0; row < c.row1; row++ {
					for s := range Streams {
						from := row*p.rows + (c.panel+s*c.apart)*Lanes
						copy(want[from:from+c.n*Lanes], p.want[from:])
					}
				}
				wantBits(t, what, out, want)
			}
		})
	}
}

// Runs that overlap or have panels that aren't whole are the caller's mistake.
func TestStripesRefuse(t *testing.T) {
	f, _ := quant.Lookup(quant.Q8_0)
	p := newProduct(rand.New(rand.NewPCG(20, 21)), f, fillers[0], 16*8+5, 64, 2)
	m, k := p.matrix(), New(Best())
	a := NewActs(f.Act, p.n, p.cols)
	out := make([]float32, p.n*p.rows)
	for _, c := range []struct{ row0, row1, panel, n, apart int }{
		{0, 1, 0, 3, 2}, {0, 1, 1, 2, 2}, {0, 1, 0, 3, 3}, {0, 3, 0, 1, 1}, {-1, 1, 0, 1, 1}, {0, 1, -1, 1, 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v did not panic", c)
				}
			}()
			var sc LinearScratch
			k.Stripes(&sc, m, a, c.row0, c.row1, c.panel, c.n, c.apart, out, p.rows)
		}()
	}
}
