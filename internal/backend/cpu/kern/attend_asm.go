//go:build !noasm && (amd64 || arm64)

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

// fill points at n groups from g on; queries begin at h.
func (s *scoresArgs) fill(dst, q []float32, a *AttendArgs, groups []int32, h, g, n int) {
	s.dst = unsafe.Pointer(&dst[h*SpanKeys+g*GroupTokens])
	s.q = unsafe.Pointer(&q[h*a.KDim])
	for i, at := range groups[g : g+n] {
		k := a.K[int(at)*a.KStride:][:4*a.KDim*GroupTokens]
		s.k[i] = unsafe.Pointer(&k[0])
	}
	s.qStride, s.dim, s.scale = uintptr(a.KDim)*4, uintptr(a.KDim), a.Scale
}

// fill sets the runs of the keys from…to, for dimensions from dim on.
func (s *valuesArgs) fill(acc, p []float32, a *AttendArgs, groups []int32, from, to, h, dim int) {
	s.acc = unsafe.Pointer(&acc[h*a.VDim+dim])
	s.p = unsafe.Pointer(&p[h*SpanKeys+from])
	s.accStride, s.vRow = uintptr(a.VDim)*4, uintptr(a.VDim)*4
	s.groups = 0
	for i := from; i < to; {
		end := min((i/GroupTokens+1)*GroupTokens, to)
		v := a.V[int(groups[i/GroupTokens])*a.VStride:][:4*GroupTokens*a.VDim]
		s.v[s.groups] = unsafe.Pointer(&v[4*(i%GroupTokens*a.VDim+dim)])
		s.n[s.groups] = uintptr(end - i)
		s.groups++
		i = end
	}
}

// softmaxed is softmax with a level's kernels.
func softmaxed(widest func(lanes *[16]float32, x *float32, blocks int), expSum func(lanes *[16]float32, p *float32, blocks int, m float32)) func(s []float32) (m, l float32) {
	return func(s []float32) (m, l float32) {
		var lanes [Lanes]float32
		n := len(s) / Lanes
		widest(&lanes, unsafe.SliceData(s), n)
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
