package kern

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/race"
)

// vecFuncs are the kernels over one row, without checks. Slices of one call
// have equal lengths but where a comment says otherwise.
type vecFuncs struct {
	roundQ8x32  func(q []int8, d []float32, s []int32, x []float32)   // q: x padded to 32
	roundQ8x256 func(q []int8, d []float32, sub []int16, x []float32) // q: x padded to 256
	roundBF16   func(dst, x []float32)                                // dst: x padded to 32
	sumQ8x32    func(sum []float32, q []int8, s []int32, x []float32) // of what roundQ8x32 made

	sumSquares func(x []float32, center float32) float32 // Σ (x − center)²
	sum        func(x []float32) float32
	scaleMul   func(dst, x, w []float32, center, scale float32) // (x − center) × scale × w
	add        func(dst, src []float32)
	silu       func(dst, gate, up []float32)
	gelu       func(dst, gate, up []float32)
	softcap    func(x []float32, limit float32)

	ropeHalves func(a, b, cos, sin []float32)
	ropePairs  func(x, cos, sin []float32) // x: two for each angle
}

var portableVec = vecFuncs{
	roundQ8x32: roundQ8x32, roundQ8x256: roundQ8x256, roundBF16: roundBF16, sumQ8x32: sumQ8x32,
	sumSquares: sumSquares, sum: sum, scaleMul: scaleMul, add: add, silu: silu, gelu: gelu, softcap: softcap,
	ropeHalves: ropeHalves, ropePairs: ropePairs,
}

// sumSquares adds the squares of x − center: value i to lane i mod 16, fused,
// then the lanes by the tree.
func sumSquares(x []float32, center float32) float32 {
	var l [Lanes]float32
	for i, v := range x {
		v -= center
		l[i%Lanes] = num.FMA32(v, v, l[i%Lanes])
	}
	return num.Tree16(&l)
}

func sum(x []float32) float32 {
	var l [Lanes]float32
	for i, v := range x {
		l[i%Lanes] += v
	}
	return num.Tree16(&l)
}

func scaleMul(dst, x, w []float32, center, scale float32) {
	for i, v := range x {
		dst[i] = float32(float32(v-center)*scale) * w[i]
	}
}

func add(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func silu(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = num.SiLU32(g) * up[i]
	}
}

func gelu(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = num.GELU32(g) * up[i]
	}
}

func softcap(x []float32, limit float32) {
	for i, v := range x {
		x[i] = num.Softcap32(v, limit)
	}
}

// RMSNorm writes x ÷ √(mean of squares + eps) × w:
//
//	dst = (x × s) × w,  s = 1 ÷ √(Σx² ÷ n + eps)
//
// with Σ fused in 16 lanes (value i in lane i mod 16) joined by num.Tree16, and
// every other step rounded to float32. dst may be x. Safe for concurrent use on
// distinct dst.
func (k *Kernels) RMSNorm(dst, x, w []float32, eps float32) {
	same("RMSNorm", len(dst), len(x), len(w))
	touch(dst, x, w)
	ss := k.vec.sumSquares(x, 0)
	k.vec.scaleMul(dst, x, w, 0, 1/num.Sqrt32(ss/float32(len(x))+eps))
}

// LayerNorm writes (x − mean) ÷ √(variance + eps) × w + b, summed as RMSNorm
// does; b may be nil.
//
//	dst = ((x − m) × s) × w + b,  m = Σx ÷ n,  s = 1 ÷ √(Σ(x−m)² ÷ n + eps)
//
// dst may be x. Safe for concurrent use on distinct dst.
func (k *Kernels) LayerNorm(dst, x, w, b []float32, eps float32) {
	same("LayerNorm", len(dst), len(x), len(w))
	touch(dst, x, w)
	n := float32(len(x))
	mean := k.vec.sum(x) / n
	ss := k.vec.sumSquares(x, mean)
	k.vec.scaleMul(dst, x, w, mean, 1/num.Sqrt32(ss/n+eps))
	if b != nil {
		same("LayerNorm", len(dst), len(b))
		k.vec.add(dst, b)
	}
}

// Add adds src to dst. Safe for concurrent use on distinct dst.
func (k *Kernels) Add(dst, src []float32) {
	same("Add", len(dst), len(src))
	touch(dst, src)
	k.vec.add(dst, src)
}

// AddScaled adds src × scale to dst, fused. Safe for concurrent use on distinct
// dst.
func (k *Kernels) AddScaled(dst, src []float32, scale float32) {
	same("AddScaled", len(dst), len(src))
	touch(dst, src)
	k.attend.merge(dst, src, 1, scale)
}

// Softcap writes num.Softcap32(x, limit) over x. Safe for concurrent use on
// distinct x.
func (k *Kernels) Softcap(x []float32, limit float32) {
	touch(x)
	k.vec.softcap(x, limit)
}

// SiLUMul writes num.SiLU32(gate) × up. dst may be gate or up. Safe for
// concurrent use on distinct dst.
func (k *Kernels) SiLUMul(dst, gate, up []float32) {
	same("SiLUMul", len(dst), len(gate), len(up))
	touch(dst, gate, up)
	k.vec.silu(dst, gate, up)
}

// GELUMul writes num.GELU32(gate) × up. dst may be gate or up. Safe for
// concurrent use on distinct dst.
func (k *Kernels) GELUMul(dst, gate, up []float32) {
	same("GELUMul", len(dst), len(gate), len(up))
	touch(dst, gate, up)
	k.vec.gelu(dst, gate, up)
}

// Softmax turns x into Exp32(x − max) × (1 ÷ sum), summed in 16 lanes joined by
// num.Tree16; a NaN makes all of x NaN. Safe for concurrent use on distinct x.
func (k *Kernels) Softmax(x []float32) {
	run := k.attend.softmax
	if len(x)%Lanes != 0 {
		run = softmax // the same bits
	}
	_, sum := run(x)
	touch(x)
	inv := 1 / sum
	for i := range x {
		x[i] = float32(x[i] * inv)
	}
}

// same panics unless all lengths are equal.
func same(what string, n int, others ...int) {
	for _, o := range others {
		if o != n {
			panic(fmt.Sprintf("kern: %s of rows of %d and %d values", what, n, o))
		}
	}
}

// touch tells the race detector what a kernel of rows writes and reads.
func touch(dst []float32, src ...[]float32) {
	if !race.Enabled {
		return
	}
	for _, s := range src {
		race.ReadSlice(s)
	}
	race.WriteSlice(dst)
}
