package kern

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
)

// deep is decode at a depth: layers of a cache that no processor's cache holds,
// pages of 16 tokens in any order.
type deep struct {
	args []AttendArgs
	sc   *AttendScratch
}

func newDeep(t quant.Type, heads, kvHeads, dim, context, rows, bytes int) *deep {
	r := rand.New(rand.NewPCG(9, 9))
	d := &deep{sc: NewAttendScratch(rows*heads, dim)}
	groups := context / GroupTokens
	stride := kvHeads * KeyBytes(t, dim)
	layers := max(1, bytes/(2*groups*stride))
	line := func(n int) []byte {
		b := make([]byte, n+63)
		skip := -uintptr(unsafe.Pointer(&b[0])) & 63
		return b[skip:]
	}
	x := make([]float32, dim)
	q, out := make([]float32, rows*heads*dim), make([]float32, rows*heads*dim)
	normalActs(1)(r, q)
	k := New(Portable)
	for range layers {
		a := AttendArgs{
			Q: q, QStride: heads * dim, Out: out, OutStride: heads * dim, Rows: rows, Heads: heads, KDim: dim, VDim: dim, Scale: 0.1,
			Type: t, K: line(groups * stride), V: line(groups * stride), KStride: stride, VStride: stride,
		}
		normalActs(1)(r, x)
		for token := range GroupTokens {
			k.StoreKey(a.K, t, token, dim, x)
			k.StoreValue(a.V, t, token, dim, x)
		}
		for at := KeyBytes(t, dim); at < groups*stride; at += KeyBytes(t, dim) {
			copy(a.K[at:], a.K[:KeyBytes(t, dim)])
			copy(a.V[at:], a.V[:KeyBytes(t, dim)])
		}
		for _, g := range r.Perm(groups) {
			a.Groups = append(a.Groups, int32(g))
		}
		for i := range rows {
			a.Visible = append(a.Visible, Causal(int32(context-rows+i), 0))
		}
		for h := range kvHeads {
			b := a
			b.K, b.V = a.K[h*KeyBytes(t, dim):], a.V[h*ValueBytes(t, dim):]
			d.args = append(d.args, b)
		}
	}
	return d
}

// BenchmarkAttend is attention at a depth; the rate is that of reading keys and
// values once, from memory for one row, and from a cache for many.
func BenchmarkAttend(b *testing.B) {
	for _, c := range []struct{ rows, heads, kvHeads, dim, context, mib int }{
		{1, 1, 8, 64, 1024, 1},
		{1, 3, 3, 64, 1024, 1}, {1, 3, 3, 64, 4096, 256},
		{1, 2, 8, 128, 1024, 1}, {1, 2, 8, 128, 4096, 256}, {1, 4, 8, 64, 4096, 256}, {1, 8, 2, 128, 4096, 256},
		{5, 3, 3, 64, 512, 1}, {16, 1, 1, 64, 512, 1}, {8, 2, 8, 128, 512, 1}, {4, 4, 8, 64, 512, 1},
	} {
		for _, t := range quant.KVTypes() {
			d := newDeep(t, c.heads, c.kvHeads, c.dim, c.context, c.rows, c.mib<<20)
			for _, l := range Supported()[1:] {
				b.Run(fmt.Sprintf("%v/rows=%d/heads=%d/dim=%d/ctx=%d/mib=%d/%v", l, c.rows, c.heads, c.dim, c.context, c.mib, t), func(b *testing.B) {
					k, i := New(l), 0
					b.SetBytes(int64(2 * KeyBytes(t, c.dim) * c.context / GroupTokens))
					best := time.Hour // of one call: what neighbours leave alone
					for b.Loop() {
						start := time.Now()
						k.Attend(d.sc, &d.args[i%len(d.args)])
						best = min(best, time.Since(start))
						i++
					}
					ops := 4 * float64(c.rows*c.heads*c.dim*c.context)
					b.ReportMetric(ops/float64(best.Nanoseconds()), "best-Gop/s")
					b.ReportMetric(float64(2*KeyBytes(t, c.dim)*c.context/GroupTokens)/float64(best.Nanoseconds()), "best-GB/s")
				})
			}
		}
	}
}

// BenchmarkStore is a key and a value of one token going to the cache.
func BenchmarkStore(b *testing.B) {
	const dim = 64
	x, group := make([]float32, dim), make([]byte, KeyBytes(quant.F32, dim))
	normalActs(1)(rand.New(rand.NewPCG(10, 10)), x)
	for _, l := range Supported() {
		for _, t := range quant.KVTypes() {
			b.Run(fmt.Sprintf("%v/%v", l, t), func(b *testing.B) {
				k, i, best := New(l), 0, time.Hour
				for b.Loop() {
					start := time.Now()
					for range 100 {
						k.StoreKey(group, t, i%GroupTokens, dim, x)
						k.StoreValue(group, t, i%GroupTokens, dim, x)
						i++
					}
					best = min(best, time.Since(start))
				}
				b.ReportMetric(float64(best.Nanoseconds())/100, "best-ns/token")
			})
		}
	}
}
