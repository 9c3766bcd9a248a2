package ptxsim

import (
	"math"

	"github.com/paddock-go/paddock/internal/backend/cuda/fragment"
	"github.com/paddock-go/paddock/internal/half"
)

// regs are the registers that an operand's braces list, each over a warp's lanes.
type regs = [][fragment.Lanes]uint32

// matrixOp is one instruction of the tensor cores. All lanes of the warp take part
// (.sync.aligned): the executor sees to that, and that none has left.
type matrixOp struct {
	text  string // the whole instruction, as the kernel's text has it
	shape *fragment.MMA
	run   func(shape *fragment.MMA, d, a, b, c regs)
}

// matrixOps are all that the interpreter knows; any other is refused when a module is
// loaded. The types of A and B come first, then those of the accumulator.
var matrixOps = []matrixOp{
	{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", fragment.M16N8K8Half, multiplyF16},
	{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", fragment.M16N8K8Half, multiplyBF16},
	{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", fragment.M16N8K16Half, multiplyF16},
	{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", fragment.M16N8K16Half, multiplyBF16},
	{"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", fragment.M16N8K16Byte, multiplyS8S8},
	{"mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", fragment.M16N8K16Byte, multiplyU8S8},
	{"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", fragment.M16N8K16Byte, multiplyS8U8},
	{"mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", fragment.M16N8K16Byte, multiplyS8S8Sat},
	{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", fragment.M16N8K32Byte, multiplyS8S8},
	{"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", fragment.M16N8K32Byte, multiplyU8S8},
	{"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", fragment.M16N8K32Byte, multiplyS8U8},
	{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", fragment.M16N8K32Byte, multiplyS8S8Sat},
}

// findMatrixOp is the op of an instruction's text, or nil.
func findMatrixOp(text string) *matrixOp {
	for i := range matrixOps {
		if matrixOps[i].text == text {
			return &matrixOps[i]
		}
	}
	return nil
}

// registers are how many registers a lane gives for each operand.
func (m *matrixOp) registers() (d, a, b, c int) {
	return m.shape.C.Regs(), m.shape.A.Regs(), m.shape.B.Regs(), m.shape.C.Regs()
}

// multiply computes d from a, b and c; d may be c.
func (m *matrixOp) multiply(d, a, b, c regs) { m.run(m.shape, d, a, b, c) }

// The largest shapes, so that the matrices lie on the stack.
const (
	mostM = 16
	mostN = 8
	mostK = 32
)

// nanBits is the one NaN that the tensor cores give.
const nanBits = 0x7fffffff

// multiplyF16: a product of two f16 has at most 22 bits and is exact in float32; it is
// added to the accumulator with one rounding, the inner dimension ascending. The
// manual leaves a card the order and the rounding of the sum, so a result may differ
// from a card's in its last bits: nothing may depend on them.
func multiplyF16(s *fragment.MMA, d, a, b, c regs) {
	var av [mostM][mostK]float32
	var bv [mostK][mostN]float32
	unpackHalves(s.A, a, func(e fragment.Element, bits uint16) { av[e.Row][e.Col] = half.F16ToF32(bits) })
	unpackHalves(s.B, b, func(e fragment.Element, bits uint16) { bv[e.Row][e.Col] = half.F16ToF32(bits) })
	sums := accumulators(s, c)
	for m := range sums {
		sum := &sums[m] // eight chains side by side: several times as fast as one by one
		for k, x := range av[m][:s.K] {
			y := &bv[k]
			for n := range sum {
				sum[n] += x * y[n]
			}
		}
	}
	deliver(s, &sums, d)
}

// multiplyBF16 does the same in float64, since a product of two bf16 is of 16 bits but
// may lie outside float32's range.
func multiplyBF16(s *fragment.MMA, d, a, b, c regs) {
	var av [mostM][mostK]float64
	var bv [mostK][mostN]float64
	unpackHalves(s.A, a, func(e fragment.Element, bits uint16) { av[e.Row][e.Col] = float64(half.BF16ToF32(bits)) })
	unpackHalves(s.B, b, func(e fragment.Element, bits uint16) { bv[e.Row][e.Col] = float64(half.BF16ToF32(bits)) })
	sums := accumulators(s, c)
	for m := range sums {
		sum := &sums[m]
		for k, x := range av[m][:s.K] {
			y := &bv[k]
			for n := range sum {
				sum[n] = float32(float64(sum[n]) + x*y[n])
			}
		}
	}
	deliver(s, &sums, d)
}

// unpackHalves hands out the 16-bit elements of a fragment.
func unpackHalves(tab *fragment.Table, r regs, put func(e fragment.Element, bits uint16)) {
	for lane := range fragment.Lanes {
		for i, e := range tab.Held(lane) {
			put(e, uint16(r[i/2][lane]>>(16*(i%2))))
		}
	}
}

func accumulators(s *fragment.MMA, c regs) (sums [mostM][mostN]float32) {
	for lane := range fragment.Lanes {
		for i, e := range s.C.Held(lane) {
			sums[e.Row][e.Col] = math.Float32frombits(c[i][lane])
		}
	}
	return sums
}

func deliver(s *fragment.MMA, sums *[mostM][mostN]float32, d regs) {
	for lane := range fragment.Lanes {
		for i, e := range s.C.Held(lane) {
			d[i][lane] = math.Float32bits(sums[e.Row][e.Col])
			if v := sums[e.Row][e.Col]; v != v {
				d[i][lane] = nanBits
			}
		}
	}
}

// byteKind is how an operand's bytes are read, and whether the sum is held within
// int32 (.satfinite) or wraps.
type byteKind struct{ aUnsigned, bUnsigned, sat bool }

func multiplyS8S8(s *fragment.MMA, d, a, b, c regs) { multiplyBytes(s, byteKind{}, d, a, b, c) }
func multiplyU8S8(s *fragment.MMA, d, a, b, c regs) {
	multiplyBytes(s, byteKind{aUnsigned: true}, d, a, b, c)
}
func multiplyS8U8(s *fragment.MMA, d, a, b, c regs) {
	multiplyBytes(s, byteKind{bUnsigned: true}, d, a, b, c)
}
func multiplyS8S8Sat(s *fragment.MMA, d, a, b, c regs) {
	multiplyBytes(s, byteKind{sat: true}, d, a, b, c)
}

func multiplyBytes(s *fragment.MMA, kind byteKind, d, a, b, c regs) {
	var av [mostM][mostK]int32
	var bv [mostK][mostN]int32
	for lane := range fragment.Lanes {
		for i, e := range s.A.Held(lane) {
			av[e.Row][e.Col] = widenByte(a[i/4][lane]>>(8*(i%4)), kind.aUnsigned)
		}
		for i, e := range s.B.Held(lane) {
			bv[e.Row][e.Col] = widenByte(b[i/4][lane]>>(8*(i%4)), kind.bUnsigned)
		}
	}
	var dots [mostM][mostN]int32 // 32 products of at most 2^16 are far from int32's ends
	for m := range dots {
		dot := &dots[m]
		for k, x := range av[m][:s.K] {
			y := &bv[k]
			for n := range dot {
				dot[n] += x * y[n]
			}
		}
	}
	for lane := range fragment.Lanes {
		for i, e := range s.C.Held(lane) {
			sum := int64(int32(c[i][lane])) + int64(dots[e.Row][e.Col])
			if kind.sat {
				sum = min(max(sum, math.MinInt32), math.MaxInt32)
			}
			d[i][lane] = uint32(sum)
		}
	}
}

func widenByte(bits uint32, unsigned bool) int32 {
	if unsigned {
		return int32(uint8(bits))
	}
	return int32(int8(bits))
}
