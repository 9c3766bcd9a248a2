package quant

import (
	"encoding/binary"
	"math"
)

// An iq1_s block is 256 values in 8 sub-blocks of 32: per 8 values an index
// into a grid of 2048 points of −1, 0 and 1, whose three high bits lie apart
// with the sub-block's scale s and sign of shift:
// (point ± ⅛) × d × (2s + 1), minus where the top bit is set.
//
//	┌──────┬───────────────┬───────────────────────────────────────────┐
//	│ d f16│ 32 × u8, index│ 8 × u16: 4 × 3 high bits, s: 3 b, shift: 1│
//	└──────┴───────────────┴───────────────────────────────────────────┘
//	0      2               34                                         50
//
// Quants here are eighths.
const iq1SBytes = 2 + 32 + 16

func takeIQ1S(b []byte) (t Taken) {
	t.D[0] = f16At(b) / 8
	for j := range 8 {
		word := binary.LittleEndian.Uint16(b[34+2*j:])
		t.scale32(j, int16(word>>12&7)*2+1)
		for l := range 4 {
			at := int(b[2+4*j+l]) | int(word>>(3*l)&7)<<8
			t.shifted(32*j+8*l, at, word>>15 != 0)
		}
	}
	return t
}

// shifted takes 8 values from the grid and moves them by an eighth.
func (blk *Taken) shifted(at, index int, down bool) {
	shift := int8(1)
	if down {
		shift = -1
	}
	for i, v := range &iq1Grid[index] {
		blk.Q[at+i] = v + shift
	}
}

// iq1Step is the step of an eighth for values like x: of 1 for about their
// root mean square, where three levels do best.
func iq1Step(x []float32) float32 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return float32(1.15 * math.Sqrt(sum/float64(len(x))) / 8)
}

func encodeIQ1S(b []byte, x []float32) {
	var step [8]float32
	for j := range step {
		step[j] = iq1Step(x[32*j : 32*j+32])
	}
	unit := putF16(b, maxAbs(step[:])*8/15) / 8
	for j := range step {
		s := oddScale(step[j], unit, 7)
		inv := inverse(unit * float32(2*s+1))
		best := float32(math.Inf(1))
		for _, shift := range []float32{1, -1} {
			word, far := uint16(s)<<12, float32(0)
			if shift < 0 {
				word |= 1 << 15
			}
			var low [4]byte
			for l := range low {
				at, d := nearestSigned(iq1Grid, x[32*j+8*l:][:8], inv, shift)
				low[l] = byte(at)
				word |= uint16(at>>8) << (3 * l)
				far += d
			}
			if far < best {
				best = far
				copy(b[2+4*j:], low[:])
				binary.LittleEndian.PutUint16(b[34+2*j:], word)
			}
		}
	}
}
