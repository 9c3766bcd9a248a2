//go:build !noasm && (amd64 || arm64)

package kern

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/num"
	"github.com/paddock-go/paddock/internal/quant"
)

// attendCalls is the memory of the arguments of attention's assembly: it is
// called through tables, which would have arguments on the stack escape.
type attendCalls struct {
	scores scoresArgs
	values valuesArgs
}

// scoresArgs is what a scores kernel takes: some queries against some groups
// of keys.
type scoresArgs struct {
	dst   unsafe.Pointer // rows SpanKeys apart
	dim   uintptr
	scale float32
	q     [4]unsafe.Pointer
	k     [maxTile]unsafe.Pointer // a group's keys
	next  [maxTile]uintptr        // as much memory is asked for there
}

// valuesArgs is what a values kernel takes: runs of keys, each in one group.
type valuesArgs struct {
	acc       unsafe.Pointer
	p         unsafe.Pointer // of the first key; rows SpanKeys apart
	accStride uintptr        // bytes between queries
	row       uintptr        // bytes between keys
	n         uintptr
	runs      [maxTile]run
}

// run is some keys of a group, at least one.
type run struct {
	v          unsafe.Pointer // of the first key
	n          uintptr
	token      uintptr        // of the first key
	next       uintptr        // asked for meanwhile, as v
	scales     unsafe.Pointer // Q8_0: of all tokens, from v's first block on
	nextScales uintptr
}

// The offsets that the assembly uses.
const (
	_ = -(unsafe.Offsetof(scoresArgs{}.dim) ^ 8)
	_ = -(unsafe.Offsetof(scoresArgs{}.scale) ^ 16)
	_ = -(unsafe.Offsetof(scoresArgs{}.q) ^ 24)
	_ = -(unsafe.Offsetof(scoresArgs{}.k) ^ 56)
	_ = -(unsafe.Offsetof(scoresArgs{}.next) ^ 120)
	_ = -(unsafe.Offsetof(valuesArgs{}.p) ^ 8)
	_ = -(unsafe.Offsetof(valuesArgs{}.accStride) ^ 16)
	_ = -(unsafe.Offsetof(valuesArgs{}.row) ^ 24)
	_ = -(unsafe.Offsetof(valuesArgs{}.n) ^ 32)
	_ = -(unsafe.Offsetof(valuesArgs{}.runs) ^ 40)
	_ = -(unsafe.Sizeof(run{}) ^ 48)
	_ = -(unsafe.Offsetof(run{}.nextScales) ^ 40)
	_ = -(SpanKeys ^ 512)
)

// shapes are kernels by queries, then by size: groups, or 16 dimensions. Every
// count of queries has one of size 1.
type shapes[A any] [5][maxTile + 1]func(*A)

// largest is the kernel of the largest size up to most.
func (s *shapes[A]) largest(queries, most int) (run func(*A), size int) {
	for size = min(most, maxTile); s[queries][size] == nil; size-- {
	}
	return s[queries][size], size
}

// kvKinds is the number of types of cache that kernels are written for.
const kvKinds = 4

// kvKind is a type's place in the tables of kernels.
func kvKind(t quant.Type) int {
	switch t {
	case quant.F16:
		return 1
	case quant.BF16:
		return 2
	case quant.Q8_0:
		return 3
	}
	return 0
}

// scoring is scores with a level's kernels.
func scoring(kernels *[kvKinds]shapes[scoresArgs]) func(sc *AttendScratch, a *AttendArgs, t *keyTile) {
	return func(sc *AttendScratch, a *AttendArgs, t *keyTile) {
		s, kinds, bytes := &sc.calls.scores, &kernels[kvKind(a.Type)], KeyBytes(a.Type, a.KDim)
		s.dim, s.scale = uintptr(a.KDim), a.Scale
		nq := a.Rows * a.Heads
		for q := 0; q < nq; {
			n := together(nq - q)
			for i := range n {
				s.q[i] = unsafe.Pointer(unsafe.SliceData(a.query(q + i)))
			}
			_ = sc.p[(q+n-1)*SpanKeys+t.col+len(t.groups)*GroupTokens-1]
			for g := 0; g < len(t.groups); {
				run, size := kinds.largest(n, len(t.groups)-g)
				for i := range size {
					k := a.K[int(t.groups[g+i])*a.KStride:][:bytes]
					s.k[i] = unsafe.Pointer(unsafe.SliceData(k))
					s.next[i] = uintptr(s.k[i])
					if q == 0 && g+i < len(t.next) {
						s.next[i] = a.ahead(t, g+i)
					}
				}
				s.dst = unsafe.Pointer(&sc.p[q*SpanKeys+t.col+g*GroupTokens])
				run(s)
				g += size
			}
			q += n
		}
	}
}

// ahead is where group i of those after a tile begins. Kernels ask for as much
// there as they read here, which may go beyond the cache and does no harm.
func (a *AttendArgs) ahead(t *keyTile, i int) uintptr {
	if t.nextValues {
		return uintptr(unsafe.Pointer(&a.V[int(t.next[i])*a.VStride]))
	}
	return uintptr(unsafe.Pointer(&a.K[int(t.next[i])*a.KStride]))
}

// summing is values with a level's kernels; what is left of the dimensions after
// the last 16 goes to the portable one.
func summing(kernels *[kvKinds]shapes[valuesArgs]) func(sc *AttendScratch, a *AttendArgs, t *keyTile, q, n, from, to int) {
	return func(sc *AttendScratch, a *AttendArgs, t *keyTile, q, n, from, to int) {
		s, kinds := &sc.calls.values, &kernels[kvKind(a.Type)]
		elem, bytes, scales := a.valueLayout()
		_, _ = sc.span.acc[(q+n)*a.VDim-1], sc.p[(q+n-1)*SpanKeys+t.col+to-1]
		s.p, s.accStride, s.row = unsafe.Pointer(&sc.p[q*SpanKeys+t.col+from]), uintptr(a.VDim)*4, uintptr(bytes-scales)/GroupTokens
		whole := a.VDim &^ (Lanes - 1)
		for dim := 0; dim < whole; {
			run, size := kinds.largest(n, (whole-dim)/Lanes)
			s.acc = unsafe.Pointer(&sc.span.acc[q*a.VDim+dim])
			s.n = 0
			for key := from; key < to; {
				end, g, token := min((key/GroupTokens+1)*GroupTokens, to), key/GroupTokens, key%GroupTokens
				v := a.V[int(t.groups[g])*a.VStride:][:bytes]
				r := &s.runs[s.n]
				at, block := scales+token*int(s.row)+dim*elem, dim/blockDims*scaleBytes
				r.v, r.n, r.token = unsafe.Pointer(&v[at]), uintptr(end-key), uintptr(token)
				r.scales = unsafe.Pointer(&v[block])
				next := uintptr(unsafe.Pointer(&v[0]))
				if q == 0 && g < len(t.next) {
					next = a.ahead(t, g)
				}
				r.next, r.nextScales = next+uintptr(at), next+uintptr(block)
				s.n++
				key = end
			}
			run(s)
			dim += size * Lanes
		}
		if whole < a.VDim {
			valuesFrom(whole, sc, a, t, q, n, from, to)
		}
	}
}

// valueLayout is the bytes of an element, of a group's values, and of the
// scales at its beginning.
func (a *AttendArgs) valueLayout() (elem, bytes, scales int) {
	bytes = ValueBytes(a.Type, a.VDim)
	if a.Type == quant.Q8_0 {
		return 1, bytes, (a.VDim + blockDims - 1) / blockDims * scaleBytes
	}
	return bytes / (GroupTokens * a.VDim), bytes, 0
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

// merging is mergeValues with a level's kernel.
func merging(merge func(acc, acc2 *float32, blocks int, a, b float32)) func(acc, acc2 []float32, a, b float32) {
	return func(acc, acc2 []float32, a, b float32) {
		n := len(acc) / Lanes
		if n > 0 {
			merge(unsafe.SliceData(acc), unsafe.SliceData(acc2), n, a, b)
		}
		mergeValues(acc[n*Lanes:], acc2[n*Lanes:], a, b)
	}
}
