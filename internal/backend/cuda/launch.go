package cuda

import (
	"encoding/binary"
	"math"
	"slices"
)

// address is a place in device memory; 0 is none.
type address uint64

// bucket bounds the steps that one list of launches is for: a step has at most so
// much of each, and blocks beyond what it really has leave at once.
type bucket struct {
	rows   int  // token rows
	seqs   int  // sequences
	logits int  // rows that want logits
	ctx    int  // keys of a sequence
	decode bool // one row for each sequence
	pick   bool // tokens are picked from the logits, which stay
}

// dims are the sizes of a grid or a block in x, y and z.
type dims [3]uint32

// launch is one kernel of a step.
type launch struct {
	kernel string // its entry point
	grid   dims
	block  dims
	shared uint32 // dynamic shared memory in bytes
	args   args

	// For fuse:

	makes  source   // the rows that it makes, if fusions has its kernel
	rounds rounding // what it does, if it rounds
}

// op is one op of a program made for a runner.
type op interface {
	// launches lists its kernels, in order, for steps within b. It is called once for
	// each bucket, and may allocate.
	launches(b bucket) []launch
}

// args are the arguments of a kernel, in the order and with the alignment of its
// parameters.
//
//	a.at(step); a.at(dst); a.f32(scale); a.i32(width)
type args struct {
	data    []byte
	offsets []int // of each argument in data
	wide    int64 // one that 32 bits do not hold; 0: all fit
}

func (a *args) place(size int) []byte {
	for len(a.data)%size != 0 {
		a.data = append(a.data, 0)
	}
	a.offsets = append(a.offsets, len(a.data))
	a.data = append(a.data, make([]byte, size)...)
	return a.data[len(a.data)-size:]
}

func (a *args) at(p address)  { binary.LittleEndian.PutUint64(a.place(8), uint64(p)) }
func (a *args) i64(v int64)   { binary.LittleEndian.PutUint64(a.place(8), uint64(v)) }
func (a *args) f32(v float32) { binary.LittleEndian.PutUint32(a.place(4), math.Float32bits(v)) }

func (a *args) i32(v int) {
	if int(int32(v)) != v {
		a.wide = int64(v)
	}
	binary.LittleEndian.PutUint32(a.place(4), uint32(int32(v)))
}

// clone is a copy to which arguments can be added.
func (a args) clone() args {
	a.data, a.offsets = slices.Clone(a.data), slices.Clone(a.offsets)
	return a
}

// ceilDiv is a ÷ b, rounded up.
func ceilDiv(a, b int) uint32 { return uint32((a + b - 1) / b) }
