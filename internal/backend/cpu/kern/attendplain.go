package kern

import (
	"math"

	"github.com/paddock-go/paddock/internal/num"
)

// The portable kernels of attention, which define it.

// query is the values of query i.
func (a *AttendArgs) query(i int) []float32 {
	return a.Q[i/a.Heads*a.QStride+i%a.Heads*a.KDim:][:a.KDim]
}

func scores(sc *AttendScratch, a *AttendArgs, t *keyTile) {
	for g, at := range t.groups {
		group, col := a.K[int(at)*a.KStride:], t.col+g*GroupTokens
		for i := range a.Rows * a.Heads {
			clear(sc.p[i*SpanKeys+col:][:GroupTokens])
		}
		for d := range a.KDim {
			var keys [GroupTokens]float32
			a.keys(&keys, group, d)
			for i := range a.Rows * a.Heads {
				s, x := sc.p[i*SpanKeys+col:][:GroupTokens], a.query(i)[d]
				for l, y := range keys {
					s[l] = num.FMA32(x, y, s[l])
				}
			}
		}
		for i := range a.Rows * a.Heads {
			s := sc.p[i*SpanKeys+col:][:GroupTokens]
			for l, v := range s {
				s[l] = v * a.Scale
			}
		}
	}
}

func softmax(s []float32) (m, l float32) {
	m = float32(math.Inf(-1))
	for _, v := range s {
		if v > m {
			m = v
		}
	}
	var lanes [Lanes]float32
	for i, v := range s {
		s[i] = num.Exp32(v - m)
		lanes[i%Lanes] += s[i]
	}
	return m, num.Tree16(&lanes)
}

func values(sc *AttendScratch, a *AttendArgs, t *keyTile, q, n, from, to int) {
	valuesFrom(0, sc, a, t, q, n, from, to)
}

// valuesFrom is values for the dimensions from dim on.
func valuesFrom(dim int, sc *AttendScratch, a *AttendArgs, t *keyTile, q, n, from, to int) {
	for key := from; key < to; key++ {
		group := a.V[int(t.groups[key/GroupTokens])*a.VStride:]
		for lo := dim; lo < a.VDim; {
			hi := min(lo&^(blockDims-1)+blockDims, a.VDim)
			var row [blockDims]float32
			a.value(row[:hi-lo], group, key%GroupTokens, lo)
			for i := q; i < q+n; i++ {
				acc, x := sc.span.acc[i*a.VDim+lo:i*a.VDim+hi], sc.p[i*SpanKeys+t.col+key]
				for d, y := range row[:hi-lo] {
					acc[d] = num.FMA32(x, y, acc[d])
				}
			}
			lo = hi
		}
	}
}

func mergeValues(acc, acc2 []float32, a, b float32) {
	for i, v := range acc2 {
		acc[i] = num.FMA32(v, b, float32(acc[i]*a))
	}
}
