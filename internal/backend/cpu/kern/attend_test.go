package kern

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
)

// attention is a random cache of one sequence, groups in random places, and
// queries over it. What no query may see is NaN.
type attention struct {
	AttendArgs
	keys, values [][]float32 // by position, as the cache holds them
}

func newAttention(r *rand.Rand, rows, heads, kdim, vdim, kvHeads, context, window int) *attention {
	return newAttentionOf(quant.F32, r, rows, heads, kdim, vdim, kvHeads, context, window)
}

func newAttentionOf(t quant.Type, r *rand.Rand, rows, heads, kdim, vdim, kvHeads, context, window int) *attention {
	a := &attention{}
	groups, head := (context+GroupTokens-1)/GroupTokens, r.IntN(kvHeads)
	all := groups + 3
	a.Type, a.KStride, a.VStride = t, kvHeads*KeyBytes(t, kdim), kvHeads*ValueBytes(t, vdim)
	a.K, a.V = bytes.Repeat([]byte{0xff}, all*a.KStride), bytes.Repeat([]byte{0xff}, all*a.VStride)
	a.K, a.V = a.K[head*KeyBytes(t, kdim):], a.V[head*ValueBytes(t, vdim):]
	k := New(Portable)
	for i, g := range r.Perm(all)[:groups] {
		a.Groups = append(a.Groups, int32(g))
		for token := range min(GroupTokens, context-i*GroupTokens) {
			key, value := make([]float32, kdim), make([]float32, vdim)
			normalActs(1)(r, key)
			normalActs(1)(r, value)
			k.StoreKey(a.K[g*a.KStride:], t, token, kdim, key)
			k.StoreValue(a.V[g*a.VStride:], t, token, vdim, value)
			quant.RoundKV(t, key, key)
			quant.RoundKV(t, value, value)
			a.keys, a.values = append(a.keys, key), append(a.values, value)
		}
	}
	a.Rows, a.Heads, a.KDim, a.VDim = rows, heads, kdim, vdim
	a.QStride, a.OutStride = heads*kdim+5, heads*vdim+3
	a.Q, a.Out = make([]float32, rows*a.QStride), make([]float32, rows*a.OutStride)
	normalActs(1)(r, a.Q)
	a.Scale = float32(1 / math.Sqrt(float64(kdim)))
	for i := range rows {
		a.Visible = append(a.Visible, Causal(int32(context-rows+i), int32(window)))
	}
	return a
}

// plain is the definition, word for word, for row r and head h.
func (a *attention) plain(r, h int) []float32 {
	q := a.Q[r*a.QStride+h*a.KDim:][:a.KDim]
	out := make([]float32, a.VDim)
	var m, l float32
	acc := make([]float32, a.VDim)
	first := true
	see := a.Visible[r]
	for s := int32(0); s < see.To; s += SpanKeys {
		lo, hi := max(s, see.From), min(s+SpanKeys, see.To)
		if lo >= hi {
			continue
		}
		p := map[int32]float32{}
		m2 := float32(math.Inf(-1))
		for key := lo; key < hi; key++ {
			var dot float32
			for d, x := range q {
				dot = num.FMA32(x, a.keys[key][d], dot)
			}
			p[key] = dot * a.Scale
			if a.Cap != 0 {
				p[key] = num.Softcap32(p[key], a.Cap)
			}
			m2 = max(m2, p[key])
		}
		var lanes [16]float32
		acc2 := make([]float32, a.VDim)
		for key := lo; key < hi; key++ {
			w := num.Exp32(p[key] - m2)
			lanes[key%16] += w
			for d := range acc2 {
				acc2[d] = num.FMA32(w, a.values[key][d], acc2[d])
			}
		}
		l2 := num.Tree16(&lanes)
		if first {
			m, l, acc, first = m2, l2, acc2, false
			continue
		}
		top := max(m, m2)
		x, y := num.Exp32(m-top), num.Exp32(m2-top)
		m, l = top, num.FMA32(l2, y, float32(l*x))
		for d := range acc {
			acc[d] = num.FMA32(acc2[d], y, float32(acc[d]*x))
		}
	}
	if first {
		return out
	}
	if a.Sinks != nil {
		sink := a.Sinks[h]
		top := max(m, sink)
		x := num.Exp32(m - top)
		l = num.FMA32(1, num.Exp32(sink-top), float32(l*x))
		for d := range acc {
			acc[d] *= x
		}
	}
	for d := range out {
		out[d] = acc[d] * (1 / l)
	}
	return out
}

func TestAttendAgainstDefinition(t *testing.T) {
	for _, c := range []struct{ rows, heads, kdim, vdim, kvHeads, context, window int }{
		{1, 1, 64, 64, 1, 1, 0},
		{1, 3, 64, 64, 3, 17, 0},
		{1, 8, 128, 128, 2, 512, 0},
		{1, 2, 64, 64, 2, 513, 0},
		{5, 4, 64, 64, 1, 530, 0},
		{7, 1, 8, 8, 2, 40, 0},
		{3, 2, 24, 40, 2, 1100, 0},
		{4, 2, 80, 80, 1, 700, 100},
		{6, 3, 64, 64, 1, 1034, 520},
		{2, 16, 16, 8, 1, 33, 1},
		{9, 5, 128, 64, 1, 300, 17},
		{3, 2, 576, 512, 1, 50, 0},
	} {
		eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
			r := rand.New(rand.NewPCG(30, uint64(c.context)))
			a := newAttentionOf(kv, r, c.rows, c.heads, c.kdim, c.vdim, c.kvHeads, c.context, c.window)
			sc := NewAttendScratch(c.rows*c.heads, c.vdim)
			if c.context%2 == 0 {
				a.Cap = 3
			}
			if c.context%3 != 0 {
				for range c.heads {
					a.Sinks = append(a.Sinks, float32(3*r.NormFloat64()))
				}
			}
			for i := range a.Out {
				a.Out[i] = 12345
			}
			for range 2 { // the second time over used scratch
				k.Attend(sc, &a.AttendArgs)
			}
			for r := range c.rows {
				for h := range c.heads {
					wantBits(t, fmt.Sprintf("%+v, row %d, head %d", c, r, h), a.Out[r*a.OutStride+h*a.VDim:][:a.VDim], a.plain(r, h))
				}
				for _, v := range a.Out[r*a.OutStride+c.heads*c.vdim:][:3] {
					if v != 12345 {
						t.Fatalf("%+v: row %d wrote beyond its heads", c, r)
					}
				}
			}
		})
	}
}

// One row at a time, and each head alone, give the bits of the block.
func TestAttendInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	whole := newAttention(r, 9, 4, 64, 64, 1, 800, 0)
	eachLevel(t, func(t *testing.T, k *Kernels) {
		k.Attend(NewAttendScratch(36, 64), &whole.AttendArgs)
		want := append([]float32(nil), whole.Out...)
		sc := NewAttendScratch(1, 64)
		for row := range whole.Rows {
			for h := range whole.Heads {
				a := whole.AttendArgs
				a.Rows, a.Heads = 1, 1
				a.Q, a.Visible = a.Q[row*a.QStride+h*a.KDim:], a.Visible[row:]
				a.Out = make([]float32, a.VDim)
				k.Attend(sc, &a)
				wantBits(t, fmt.Sprintf("row %d, head %d", row, h), a.Out, want[row*a.OutStride+h*a.VDim:][:a.VDim])
			}
		}
	})
}

func TestAttendSpecials(t *testing.T) {
	inf := float32(math.Inf(1))
	eachLevel(t, func(t *testing.T, k *Kernels) {
		r := rand.New(rand.NewPCG(33, 34))
		run := func(a *attention) []float32 {
			k.Attend(NewAttendScratch(a.Rows*a.Heads, a.VDim), &a.AttendArgs)
			return a.Out[:a.VDim]
		}
		a := newAttention(r, 1, 1, 16, 16, 1, 20, 0)
		a.Visible[0] = KeyRange{5, 5}
		for _, v := range run(a) {
			if v != 0 {
				t.Fatalf("a query that sees nothing gave %v", v)
			}
		}
		// Scores far apart: weights underflow, nothing overflows.
		a = newAttention(r, 1, 1, 16, 16, 1, 700, 0)
		for i := range a.Q {
			a.Q[i] *= 1e4
		}
		wantBits(t, "large scores", run(a), a.plain(0, 0))
		for _, v := range a.Out[:a.VDim] {
			if v != v || v == inf || v == -inf {
				t.Fatalf("large scores gave %v", v)
			}
		}
		// A NaN that is seen must not get lost.
		a = newAttention(r, 1, 1, 16, 16, 1, 700, 0)
		a.keys[48][0] = float32(math.NaN())
		k.StoreKey(a.K[int(a.Groups[3])*a.KStride:], a.Type, 0, a.KDim, a.keys[48])
		for _, v := range run(a) {
			if v == v {
				t.Fatalf("a NaN key gave %v", v)
			}
		}
	})
}

func TestAttendAllocatesNothing(t *testing.T) {
	sc := NewAttendScratch(6, 64)
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		a := newAttentionOf(kv, rand.New(rand.NewPCG(35, 36)), 3, 2, 64, 64, 1, 600, 0)
		if n := testing.AllocsPerRun(5, func() { k.Attend(sc, &a.AttendArgs) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// eachKV runs f for every level and type of cache.
func eachKV(t *testing.T, f func(t *testing.T, k *Kernels, kv quant.Type)) {
	eachLevel(t, func(t *testing.T, k *Kernels) {
		for _, kv := range quant.KVTypes() {
			t.Run(kv.String(), func(t *testing.T) { f(t, k, kv) })
		}
	})
}

func TestCausal(t *testing.T) {
	for _, c := range []struct {
		pos, window int32
		want        KeyRange
	}{{0, 0, KeyRange{0, 1}}, {7, 0, KeyRange{0, 8}}, {7, 8, KeyRange{0, 8}}, {7, 3, KeyRange{5, 8}}, {7, 1, KeyRange{7, 8}}} {
		if got := Causal(c.pos, c.window); got != c.want {
			t.Errorf("Causal(%d, %d) = %v, want %v", c.pos, c.window, got, c.want)
		}
	}
}
