//go:build !noasm

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/num"
)

// scoresArgs is what a scores kernel takes: some queries against up to 4
// groups of keys.
type scoresArgs struct {
	dst     unsafe.Pointer // rows SpanKeys apart
	q       unsafe.Pointer
	k       [tileGroups]unsafe.Pointer // [dim][16] each
	qStride uintptr                    // bytes between queries
	dim     uintptr
	scale   float32
}

// valuesArgs is what a values kernel takes: runs of keys in up to 4 groups.
type valuesArgs struct {
	acc       unsafe.Pointer
	p         unsafe.Pointer // of the first key; rows SpanKeys apart
	accStride uintptr        // bytes between queries
	vRow      uintptr        // bytes between keys
	groups    uintptr
	v         [tileGroups]unsafe.Pointer // the first key of each run
	n         [tileGroups]uintptr        // its keys, at least one
}

// The offsets that the assembly uses.
const (
	_ = -(unsafe.Offsetof(scoresArgs{}.q) ^ 8)
	_ = -(unsafe.Offsetof(scoresArgs{}.k) ^ 16)
	_ = -(unsafe.Offsetof(scoresArgs{}.qStride) ^ 48)
	_ = -(unsafe.Offsetof(scoresArgs{}.dim) ^ 56)
	_ = -(unsafe.Offsetof(scoresArgs{}.scale) ^ 64)
	_ = -(unsafe.Offsetof(valuesArgs{}.p) ^ 8)
	_ = -(unsafe.Offsetof(valuesArgs{}.accStride) ^ 16)
	_ = -(unsafe.Offsetof(valuesArgs{}.vRow) ^ 24)
	_ = -(unsafe.Offsetof(valuesArgs{}.groups) ^ 32)
	_ = -(unsafe.Offsetof(valuesArgs{}.v) ^ 40)
	_ = -(unsafe.Offsetof(valuesArgs{}.n) ^ 72)
	_ = -(SpanKeys ^ 512)
)

var (
	avx2Attend   = attendFuncs{scores: scoresAsm2, softmax: softmaxed(expSumAVX2), values: valuesAsm2, merge: mergeAsm}
	avx512Attend = attendFuncs{scores: scoresAsm512, softmax: softmaxed(expSumAVX512), values: valuesAsm512, merge: mergeAsm}
)

// fill points at n groups from g on; queries begin at h.
func (s *scoresArgs) fill(dst, q []float32, a *AttendArgs, groups []int32, h, g, n int) {
	s.dst = unsafe.Pointer(&dst[h*SpanKeys+g*GroupTokens])
	s.q = unsafe.Pointer(&q[h*a.KDim])
	for i, at := range groups[g : g+n] {
		k := a.K[int(at)*a.KStride:][:a.KDim*GroupTokens]
		s.k[i] = unsafe.Pointer(&k[0])
	}
	s.qStride, s.dim, s.scale = uintptr(a.KDim)*4, uintptr(a.KDim), a.Scale
}

func scoresAsm2(dst, q []float32, a *AttendArgs, groups []int32) {
	_, _ = q[a.Heads*a.KDim-1], dst[(a.Heads-1)*SpanKeys+len(groups)*GroupTokens-1]
	var s scoresArgs
	for g := 0; g < len(groups); {
		n := 1 + min(1, len(groups)-g-1)
		for h := 0; h < a.Heads; {
			s.fill(dst, q, a, groups, h, g, n)
			switch two := a.Heads-h >= 2; {
			case two && n == 2:
				scoresAVX2Q2x2(&s)
				h += 2
			case two:
				scoresAVX2Q2x1(&s)
				h += 2
			case n == 2:
				scoresAVX2Q1x2(&s)
				h++
			default:
				scoresAVX2Q1x1(&s)
				h++
			}
		}
		g += n
	}
}

func scoresAsm512(dst, q []float32, a *AttendArgs, groups []int32) {
	_, _ = q[a.Heads*a.KDim-1], dst[(a.Heads-1)*SpanKeys+len(groups)*GroupTokens-1]
	var s scoresArgs
	for g := 0; g < len(groups); {
		n := 1
		if len(groups)-g >= 4 {
			n = 4
		}
		for h := 0; h < a.Heads; {
			s.fill(dst, q, a, groups, h, g, n)
			switch left := a.Heads - h; {
			case left >= 4 && n == 4:
				scoresAVX512Q4x4(&s)
				h += 4
			case left >= 4:
				scoresAVX512Q4x1(&s)
				h += 4
			case left >= 2 && n == 4:
				scoresAVX512Q2x4(&s)
				h += 2
			case left >= 2:
				scoresAVX512Q2x1(&s)
				h += 2
			case n == 4:
				scoresAVX512Q1x4(&s)
				h++
			default:
				scoresAVX512Q1x1(&s)
				h++
			}
		}
		g += n
	}
}

// fill sets the runs of the keys from…to, for dimensions from dim on.
func (s *valuesArgs) fill(acc, p []float32, a *AttendArgs, groups []int32, from, to, h, dim int) {
	s.acc = unsafe.Pointer(&acc[h*a.VDim+dim])
	s.p = unsafe.Pointer(&p[h*SpanKeys+from])
	s.accStride, s.vRow = uintptr(a.VDim)*4, uintptr(a.VDim)*4
	s.groups = 0
	for i := from; i < to; {
		end := min((i/GroupTokens+1)*GroupTokens, to)
		v := a.V[int(groups[i/GroupTokens])*a.VStride:][:GroupTokens*a.VDim]
		s.v[s.groups] = unsafe.Pointer(&v[i%GroupTokens*a.VDim+dim])
		s.n[s.groups] = uintptr(end - i)
		s.groups++
		i = end
	}
}

func valuesAsm2(acc, p []float32, a *AttendArgs, groups []int32, from, to int) {
	_, _ = acc[a.Heads*a.VDim-1], p[(a.Heads-1)*SpanKeys+to-1]
	var s valuesArgs
	whole := a.VDim &^ (Lanes - 1)
	for h := range a.Heads {
		for dim := 0; dim < whole; {
			s.fill(acc, p, a, groups, from, to, h, dim)
			if whole-dim >= 64 {
				valuesAVX2Q1x4(&s)
				dim += 64
			} else {
				valuesAVX2Q1x1(&s)
				dim += 16
			}
		}
	}
	if whole < a.VDim {
		valuesFrom(whole, acc, p, a, groups, from, to)
	}
}

func valuesAsm512(acc, p []float32, a *AttendArgs, groups []int32, from, to int) {
	_, _ = acc[a.Heads*a.VDim-1], p[(a.Heads-1)*SpanKeys+to-1]
	var s valuesArgs
	whole := a.VDim &^ (Lanes - 1)
	for h := 0; h < a.Heads; {
		n := 1 + min(1, a.Heads-h-1)
		for dim := 0; dim < whole; {
			s.fill(acc, p, a, groups, from, to, h, dim)
			switch left := whole - dim; {
			case left >= 128 && n == 2:
				valuesAVX512Q2x8(&s)
				dim += 128
			case left >= 128:
				valuesAVX512Q1x8(&s)
				dim += 128
			case left >= 64 && n == 2:
				valuesAVX512Q2x4(&s)
				dim += 64
			case left >= 64:
				valuesAVX512Q1x4(&s)
				dim += 64
			case n == 2:
				valuesAVX512Q2x1(&s)
				dim += 16
			default:
				valuesAVX512Q1x1(&s)
				dim += 16
			}
		}
		h += n
	}
	if whole < a.VDim {
		valuesFrom(whole, acc, p, a, groups, from, to)
	}
}

// softmaxed is softmax with one width's kernel of exp.
func softmaxed(expSum func(lanes *[16]float32, p *float32, blocks int, m float32)) func(s []float32) (m, l float32) {
	return func(s []float32) (m, l float32) {
		var lanes [Lanes]float32
		n := len(s) / Lanes
		maxAVX2(&lanes, unsafe.SliceData(s), n)
		m = lanes[0]
		for _, v := range lanes[1:] {
			if v > m {
				m = v
			}
		}
		expSum(&lanes, unsafe.SliceData(s), n, m)
		return m, num.Tree16(&lanes)
	}
}

func mergeAsm(acc, acc2 []float32, a, b float32) {
	n := len(acc) / Lanes
	if n > 0 {
		mergeAVX2(unsafe.SliceData(acc), unsafe.SliceData(acc2), n, a, b)
	}
	mergeValues(acc[n*Lanes:], acc2[n*Lanes:], a, b)
}
