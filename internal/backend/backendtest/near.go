package backendtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/quant"
)

// Near is how a backend with an arithmetic of its own is held against another.
type Near struct {
	Formats []quant.Type     // of weights, each alone
	KV      []backend.KVType // of caches, in turn
	Models  int              // random models of each format
	Poison  func(backend.Runner)

	// Refused tells an error of Plan, NewRunner too, that only says that the backend
	// has not all that a random program uses. Such models don't count.
	Refused func(error) bool

	// Gate is the largest difference of a logit, relative to 1 + the largest of its row.
	// Where activations are rounded to 8 bits, one that lies within float noise of a
	// boundary may fall the other way: Flip is the gate of one row in Flips.
	Gate, Flip float64
	Flips      int
}

// nearness is what was seen of one model.
type nearness struct {
	*Near
	rows, flips int
	worst       float64
}

// triedModels bounds the random models that are looked at for one that is not refused.
const triedModels = 400

// each calls use with the random models of each format that the device takes.
func (n *Near) each(t *testing.T, d backend.Device, use func(t *testing.T, m *Random)) {
	for at, f := range n.Formats {
		t.Run(f.String(), func(t *testing.T) {
			worst, rows, flips, found := 0.0, 0, 0, 0
			for seed := uint64(1000 * at); found < n.Models; seed++ {
				if seed == uint64(1000*at+triedModels) {
					t.Fatalf("only %d of %d models are not refused", found, triedModels)
				}
				m := NewRandom(seed, f)
				m.KV = n.KV[found%len(n.KV)]
				if n.refuses(t, d, m) {
					continue
				}
				found++
				m.near = &nearness{Near: n}
				use(t, m)
				worst, rows, flips = max(worst, m.near.worst), rows+m.near.rows, flips+m.near.flips
			}
			if flips*max(n.Flips, 1) > rows {
				t.Errorf("%d of %d rows differ by more than %g, allowed is one in %d", flips, rows, n.Gate, n.Flips)
			}
			t.Logf("%d models, %d rows of logits, largest relative difference %.2g, %d beyond %g", found, rows, worst, flips, n.Gate)
		})
	}
}

// refuses tells whether a device does not take a model.
func (n *Near) refuses(t *testing.T, d backend.Device, m *Random) bool {
	_, err := d.Plan(m.Prog, m)
	if err != nil && !n.Refused(err) {
		t.Fatal(err)
	}
	return err != nil
}

// RunNear demands that a device comes near another on random models: ragged batches
// over pages in random order.
func RunNear(t *testing.T, want, got backend.Device, n Near) {
	n.each(t, got, func(t *testing.T, m *Random) { conform(t, m, want, n.Poison, []backend.Device{got}) })
}

// RunNearLaw demands that how sequences are cut into batches moves the logits of a
// device no further than that: one by one, in chunks, and beside others.
func RunNearLaw(t *testing.T, d backend.Device, n Near) {
	n.each(t, d, func(t *testing.T, m *Random) {
		law(t, m, d, [][]int32{m.Tokens(21), m.Tokens(33), m.Tokens(1)}, n.Poison)
	})
}

// same demands equal bits, or nearness where that is what the model is for.
func (m *Random) same(t *testing.T, what string, want, got [][]float32) {
	t.Helper()
	if m.near == nil {
		same(t, what, want, got)
		return
	}
	if len(want) != len(got) {
		t.Fatalf("%s: %d and %d rows of logits", what, len(want), len(got))
	}
	for r := range want {
		m.near.row(t, fmt.Sprintf("%s: row %d", what, r), want[r], got[r])
	}
}

func (n *nearness) row(t *testing.T, what string, want, got []float32) {
	t.Helper()
	diff, at := difference(want, got)
	n.rows++
	n.worst = max(n.worst, diff)
	switch {
	case diff <= n.Gate:
	case diff <= n.Flip:
		n.flips++
	default:
		t.Errorf("%s, logit %d: %v, want %v", what, at, got[at], want[at])
	}
}

// difference is the largest one of a row, relative to 1 + the largest value, and where.
// A NaN or an infinity wants the same.
func difference(want, got []float32) (diff float64, at int) {
	top := 1.0
	for _, w := range want {
		if a := math.Abs(float64(w)); a <= math.MaxFloat32 {
			top = max(top, 1+a)
		}
	}
	for i, w := range want {
		d := math.Abs(float64(w)-float64(got[i])) / top
		switch {
		case w != w && got[i] != got[i] || w == got[i]: // infinities too
			continue
		case d != d:
			d = math.Inf(1)
		}
		if d > diff {
			diff, at = d, i
		}
	}
	return diff, at
}
