package quant

import "github.com/paddock-go/paddock/internal/num"

// A q6_K block is 256 values in 16 sub-blocks of 16: (q − 32) × (d × scale),
// with an int8 scale per sub-block.
//
//	┌──────────────────┬──────────────────┬─────────────────┬──────┐
//	│ ql: 128 B, 4 low │ qh: 64 B, 2 high │ scale int8 × 16 │ d f16│
//	└──────────────────┴──────────────────┴─────────────────┴──────┘
//	0                  128                192               208  210
//
// Each half of 128 values has 64 bytes of ql and 32 of qh. With quarter k (32
// values) of a half: ql byte 32 × (k mod 2) + i, low nibble for k < 2 and high
// one for k ≥ 2; qh byte i, bits 2k and 2k + 1.
const q6KBytes = 128 + 64 + 16 + 2

// q6KValues unpacks the 256 quants of a block, −32…31.
func q6KValues(q *[256]int8, blk []byte) {
	for h := range 2 {
		ql, qh := blk[64*h:][:64], blk[128+32*h:][:32]
		for k := range 4 {
			for i := range 32 {
				v := ql[32*(k&1)+i]>>(4*(k>>1))&15 | qh[i]>>(2*k)&3<<4
				q[128*h+32*k+i] = int8(v) - 32
			}
		}
	}
}

func decodeQ6K(dst []float32, src []byte) {
	nb, src := blocks("decode q6_K", len(dst), 256, src, q6KBytes)
	var q [256]int8
	for b := range nb {
		blk, out := src[b*q6KBytes:(b+1)*q6KBytes], dst[b*256:(b+1)*256]
		q6KValues(&q, blk)
		d := f16At(blk[208:])
		for i, v := range q {
			out[i] = float32(d*float32(int8(blk[192+i/16]))) * float32(v)
		}
	}
}

// encodeQ6K gives the value of largest magnitude of each sub-block the code
// −32.
func encodeQ6K(dst []byte, src []float32) {
	nb, dst := blocks("encode q6_K", len(src), 256, dst, q6KBytes)
	for b := range nb {
		blk, in := dst[b*q6KBytes:(b+1)*q6KBytes], src[b*256:(b+1)*256]
		var step [16]float32
		for j := range step {
			step[j] = widest(in[j*16:(j+1)*16]) / -32
		}
		clear(blk)
		d := putF16(blk[208:], maxAbs(step[:])/127)
		for j := range step {
			sc := nearest(step[j], d, -127, 127)
			blk[192+j] = byte(int8(sc))
			for i := j * 16; i < (j+1)*16; i++ {
				v := byte(nearest(in[i], d*float32(sc), -32, 31) + 32)
				h, k, o := i/128, i/32&3, i&31
				blk[64*h+32*(k&1)+o] |= v & 15 << (4 * (k >> 1))
				blk[128+32*h+o] |= v >> 4 << (2 * k)
			}
		}
	}
}

// dotQ6K: per block one exact integer, Σ scale × (quants · activations), then
// one fused add.
func dotQ6K(row []byte, act *Act) float32 {
	nb := act.want(ActQ8x256, row, 256, q6KBytes)
	var acc float32
	var q [256]int8
	for b := range nb {
		blk, x := row[b*q6KBytes:(b+1)*q6KBytes], act.Q[b*256:(b+1)*256]
		q6KValues(&q, blk)
		var sum int32
		for j := range 16 {
			var dot int32
			for i := j * 16; i < (j+1)*16; i++ {
				dot += int32(q[i]) * int32(x[i])
			}
			sum += int32(int8(blk[192+j])) * dot
		}
		acc = num.FMA32(float32(sum), float32(f16At(blk[208:])*act.D[b]), acc)
	}
	return acc
}
