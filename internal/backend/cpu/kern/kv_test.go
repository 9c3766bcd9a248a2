package kern

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paddock-go/paddock/internal/quant"
)

// readKey and readValue are what a group holds, by the portable kernels'
// readers.
func readKey(group []byte, t quant.Type, token, dim int) []float32 {
	a, key := AttendArgs{Type: t}, make([]float32, dim)
	for d := range key {
		var lanes [GroupTokens]float32
		a.keys(&lanes, group, d)
		key[d] = lanes[token]
	}
	return key
}

func readValue(group []byte, t quant.Type, token, dim int) []float32 {
	a, value := AttendArgs{Type: t, VDim: dim}, make([]float32, dim)
	for d := range value {
		a.value(value[d:d+1], group, token, d)
	}
	return value
}

// kvRows are keys or values of everyday size and of the extremes that 16 bits
// and 8 bits know.
func kvRows(r *rand.Rand, dim int) map[string][]float32 {
	rows := map[string][]float32{}
	row := func(name string, f func(i int) float32) {
		x := make([]float32, dim)
		for i := range x {
			x[i] = f(i)
		}
		rows[name] = x
	}
	inf := float32(math.Inf(1))
	row("normal", func(int) float32 { return float32(r.NormFloat64()) })
	row("any bits", func(int) float32 { return math.Float32frombits(r.Uint32()) })
	row("halves", func(int) float32 { return math.Float32frombits(r.Uint32()&0x8ffff000 | 0x38000000 | r.Uint32()&1) })
	row("denormal halves", func(int) float32 { return float32(r.IntN(4096)-2048) * 0x1p-26 })
	row("denormal", func(int) float32 { return math.Float32frombits(r.Uint32() & 0x807fffff) })
	row("beyond f16", func(i int) float32 { return []float32{65504, 65519.996, 65520, -65520, 1e30, -inf}[i%6] })
	row("ties of 8 bit", func(i int) float32 { return []float32{127, 0.5, 1.5, -2.5, 3.5, -126.5}[i%6] })
	row("zeros", func(i int) float32 { return float32(math.Copysign(0, float64(i%2)-0.5)) })
	row("one NaN", func(i int) float32 { return []float32{1, float32(math.NaN())}[b2i(i == dim/2)] })
	row("one infinity", func(i int) float32 { return []float32{1, inf}[b2i(i == dim/2)] })
	return rows
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What is stored is what RoundKV says, at every level, and nothing else changes.
func TestStore(t *testing.T) {
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		r := rand.New(rand.NewPCG(60, 61))
		for _, dim := range []int{1, 8, 16, 24, 31, 32, 33, 40, 48, 64, 80, 96, 128, 576} {
			for name, x := range kvRows(r, dim) {
				token := r.IntN(GroupTokens)
				want := make([]float32, dim)
				quant.RoundKV(kv, want, x)
				group := bytes.Repeat([]byte{0xa5}, KeyBytes(kv, dim)+64)
				old := bytes.Clone(group)
				k.StoreKey(group, kv, token, dim, x)
				wantBits(t, fmt.Sprintf("key %q of %d, token %d", name, dim, token), readKey(group, kv, token, dim), want)
				for other := range GroupTokens {
					if other != token {
						wantBits(t, fmt.Sprintf("token %d beside key %q of %d", other, name, dim), readKey(group, kv, other, dim), readKey(old, kv, other, dim))
					}
				}
				if !bytes.Equal(group[len(group)-64:], old[len(old)-64:]) {
					t.Fatalf("key %q of %d went beyond its group", name, dim)
				}
				group = bytes.Clone(old)
				k.StoreValue(group, kv, token, dim, x)
				wantBits(t, fmt.Sprintf("value %q of %d, token %d", name, dim, token), readValue(group, kv, token, dim), want)
				for other := range GroupTokens {
					if other != token {
						wantBits(t, fmt.Sprintf("token %d beside value %q of %d", other, name, dim), readValue(group, kv, other, dim), readValue(old, kv, other, dim))
					}
				}
				if !bytes.Equal(group[len(group)-64:], old[len(old)-64:]) {
					t.Fatalf("value %q of %d went beyond its group", name, dim)
				}
			}
		}
	})
}

// Every level writes the same bytes, padding included.
func TestStoreSameBytes(t *testing.T) {
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		r := rand.New(rand.NewPCG(62, 63))
		for _, dim := range []int{8, 32, 40, 64, 80, 128} {
			want, got := make([]byte, KeyBytes(kv, dim)), make([]byte, KeyBytes(kv, dim))
			for token := range GroupTokens {
				x := make([]float32, dim)
				normalActs(1)(r, x)
				New(Portable).StoreKey(want, kv, token, dim, x)
				k.StoreKey(got, kv, token, dim, x)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("keys of %d differ from the portable bytes", dim)
			}
			for token := range GroupTokens {
				x := make([]float32, dim)
				normalActs(1)(r, x)
				New(Portable).StoreValue(want, kv, token, dim, x)
				k.StoreValue(got, kv, token, dim, x)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("values of %d differ from the portable bytes", dim)
			}
		}
	})
}

func TestStoreAllocatesNothing(t *testing.T) {
	x, group := make([]float32, 80), make([]byte, KeyBytes(quant.F32, 80))
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		if n := testing.AllocsPerRun(5, func() {
			k.StoreKey(group, kv, 3, 80, x)
			k.StoreValue(group, kv, 4, 80, x)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// A type of cache changes the values alone: attention over it is that over an
// exact cache of what RoundKV makes of keys and values.
func TestAttendOverTypes(t *testing.T) {
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		for _, heads := range []int{1, 2, 3, 4, 5, 7, 8} {
			for _, dims := range [][2]int{{64, 64}, {128, 128}, {40, 24}, {80, 80}, {96, 96}, {33, 70}} {
				r := rand.New(rand.NewPCG(64, uint64(100*heads+dims[0])))
				a := newAttentionOf(kv, r, 2, heads, dims[0], dims[1], 2, 100+37*heads, 90*(heads%2))
				exact := a.exact()
				sc := NewAttendScratch(2*heads, dims[1])
				k.Attend(sc, &a.AttendArgs)
				k.Attend(sc, exact)
				wantBits(t, fmt.Sprintf("%d heads of %v", heads, dims), a.Out, exact.Out)
			}
		}
	})
}

// Values that lie in the keys.
func TestAttendInKeys(t *testing.T) {
	eachKV(t, func(t *testing.T, k *Kernels, kv quant.Type) {
		r := rand.New(rand.NewPCG(65, 66))
		a := newAttentionOf(kv, r, 2, 3, 72, 64, 1, 530, 0)
		for i := range a.keys {
			a.values[i] = a.keys[i][:64]
		}
		a.V, a.VStride = nil, 0
		sc := NewAttendScratch(6, 64)
		sc.ReserveInKeys()
		k.Attend(sc, &a.AttendArgs)
		for row := range a.Rows {
			for h := range a.Heads {
				wantBits(t, fmt.Sprintf("row %d, head %d", row, h), a.Out[row*a.OutStride+h*a.VDim:][:a.VDim], a.plain(row, h))
			}
		}
	})
}

// exact is a's attention over an exact cache of the same keys and values.
func (a *attention) exact() *AttendArgs {
	b, k := a.AttendArgs, New(Portable)
	b.Type, b.KStride, b.VStride = quant.F32, KeyBytes(quant.F32, a.KDim), ValueBytes(quant.F32, a.VDim)
	groups := (len(a.keys) + GroupTokens - 1) / GroupTokens
	b.Groups, b.K, b.V = make([]int32, groups), make([]byte, groups*b.KStride), make([]byte, groups*b.VStride)
	for i := range b.Groups {
		b.Groups[i] = int32(i)
	}
	for i := range a.keys {
		k.StoreKey(b.K[i/GroupTokens*b.KStride:], b.Type, i%GroupTokens, b.KDim, a.keys[i])
		k.StoreValue(b.V[i/GroupTokens*b.VStride:], b.Type, i%GroupTokens, b.VDim, a.values[i])
	}
	b.Out = make([]float32, len(a.Out))
	return &b
}

// newAttention's stale tokens are NaN in every type, or tests of them show nothing.
func TestStaleIsNaN(t *testing.T) {
	for _, kv := range quant.KVTypes() {
		a := newAttentionOf(kv, rand.New(rand.NewPCG(67, 68)), 1, 1, 32, 32, 1, 5, 0)
		g := int(a.Groups[0])
		for _, v := range append(readKey(a.K[g*a.KStride:], kv, 5, 32), readValue(a.V[g*a.VStride:], kv, 5, 32)...) {
			if v == v {
				t.Errorf("a stale value in %v is %v, want NaN", kv, v)
			}
		}
		wantBits(t, "the key before it", readKey(a.K[g*a.KStride:], kv, 4, 32), a.keys[4])
	}
}
