package cuda

import (
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	lower "github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/model/synth"
)

// TestNodesOfAStep counts the kernels of a decode step of real shapes, and their blocks:
// BENCHMARKS.md reckons with them.
func TestNodesOfAStep(t *testing.T) {
	for _, c := range []struct {
		shape string
		nodes int // kernels
		least int // blocks of the least product of 32 rows
	}{{"0.6b", 314, 16}, {"8b", 358, 64}} {
		f, err := synth.Open(c.shape, "Q8_0", 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lower.Lower(f, lower.Options{Context: 1024})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlan(&Device{}, m.Program, lower.NewSource(f))
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(p.prog, backend.Limits{Rows: 512, Seqs: 32, LogitRows: 32, Pages: 64, PageSize: 16, Context: 1024}, p.device.facts, p.weights, &regions{}, false)
		ops, err := r.compile()
		if err != nil {
			t.Fatal(err)
		}
		nodes := len(stepLaunches(ops, bucket{rows: 1, seqs: 1, logits: 1, ctx: 1024, decode: true}, false))
		if nodes != c.nodes {
			t.Errorf("a decode step of %s launches %d kernels, BENCHMARKS.md says %d", c.shape, nodes, c.nodes)
		}
		least := 1 << 30
		for _, x := range stepLaunches(ops, bucket{rows: 32, seqs: 32, logits: 32, ctx: 1024, decode: true}, false) {
			if strings.HasPrefix(x.kernel, "gemm_") {
				least = min(least, int(x.grid[0]*x.grid[1]*x.grid[2]))
			}
		}
		if least != c.least {
			t.Errorf("the least product of 32 rows of %s has %d blocks, BENCHMARKS.md says %d", c.shape, least, c.least)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
