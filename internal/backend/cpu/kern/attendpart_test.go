package kern

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// Spans attended to apart, in any order, by different workers, and joined give
// Attend's bits; also where rows see different spans, or nothing.
func TestAttendInSpans(t *testing.T) {
	for _, c := range []struct{ rows, heads, dim, context, window int }{
		{1, 3, 64, 1500, 0}, {1, 1, 16, 513, 0}, {5, 2, 40, 1030, 0}, {4, 2, 32, 1600, 520}, {2, 3, 24, 1537, 1}, {1, 2, 16, 300, 0},
	} {
		for _, typ := range quant.KVTypes() {
			eachLevel(t, func(t *testing.T, k *Kernels) {
				r := rand.New(rand.NewPCG(37, uint64(c.context)))
				a := newAttentionOf(typ, r, c.rows, c.heads, c.dim, c.dim, 2, c.context, c.window)
				if c.rows > 4 {
					a.Visible[2] = KeyRange{7, 7}
				}
				for range c.heads {
					a.Sinks = append(a.Sinks, float32(r.NormFloat64()))
				}
				sc := [2]*AttendScratch{NewAttendScratch(c.rows*c.heads, c.dim), NewAttendScratch(c.rows*c.heads, c.dim)}
				k.Attend(sc[0], &a.AttendArgs)
				want := append([]float32(nil), a.Out...)
				clear(a.Out)
				first, n := Spans(a.Visible)
				stride := PartFloats(c.rows*c.heads, c.dim) + 3
				parts := make([]float32, n*stride)
				for i, span := range r.Perm(n) {
					k.AttendSpan(sc[i%2], &a.AttendArgs, first+span, parts[span*stride:])
				}
				k.JoinSpans(sc[0], &a.AttendArgs, parts, stride, n)
				wantBits(t, fmt.Sprintf("%+v over %v", c, typ), a.Out, want)
			})
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		visible  []KeyRange
		first, n int
	}{
		{nil, 0, 0}, {[]KeyRange{{3, 3}}, 0, 0}, {[]KeyRange{{0, 1}}, 0, 1}, {[]KeyRange{{0, 512}}, 0, 1}, {[]KeyRange{{0, 513}}, 0, 2},
		{[]KeyRange{{511, 512}, {900, 1025}}, 0, 3}, {[]KeyRange{{512, 600}, {2, 2}}, 1, 1}, {[]KeyRange{{1500, 1600}}, 2, 2},
	} {
		if first, n := Spans(c.visible); first != c.first || n != c.n {
			t.Errorf("Spans(%v) = %d, %d, want %d, %d", c.visible, first, n, c.first, c.n)
		}
	}
}

func TestAttendSpanAllocatesNothing(t *testing.T) {
	a := newAttention(rand.New(rand.NewPCG(38, 36)), 3, 2, 64, 64, 1, 600, 0)
	sc, part := NewAttendScratch(6, 64), make([]float32, 2*PartFloats(6, 64))
	eachLevel(t, func(t *testing.T, k *Kernels) {
		if n := testing.AllocsPerRun(5, func() {
			k.AttendSpan(sc, &a.AttendArgs, 0, part)
			k.AttendSpan(sc, &a.AttendArgs, 1, part[len(part)/2:])
			k.JoinSpans(sc, &a.AttendArgs, part, len(part)/2, 2)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
