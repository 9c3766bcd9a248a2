package kern

import "github.com/paddock-go/paddock/internal/quant"

// roundQ8x32 is quant's rounding to 8 bit in blocks of 32, with the sum of
// each block's quants, by which offsets of unsigned weights are taken off.
func roundQ8x32(q []int8, d []float32, s []int32, x []float32) {
	quant.QuantizeQ8x32(q, d, x)
	for b := range s {
		s[b] = 0
		for _, v := range q[b*32 : (b+1)*32] {
			s[b] += int32(v)
		}
	}
}

// roundQ8x256 is quant's rounding in blocks of 256, with the sums of 16 quants
// and those of 32 after them.
func roundQ8x256(q []int8, d []float32, sub []int16, x []float32) {
	for b := range d {
		sums := sub[b*subSums : (b+1)*subSums]
		lo := min(b*256, len(x))
		quant.QuantizeQ8x256(q[b*256:(b+1)*256], d[b:b+1], sums[:16], x[lo:min(lo+256, len(x))])
		for j := range 8 {
			sums[16+j] = sums[2*j] + sums[2*j+1]
		}
	}
}

func roundBF16(dst, x []float32) { quant.RoundBF16(dst, x) }

func sumQ8x32(sum []float32, q []int8, _ []int32, x []float32) { quant.SumQ8x32(sum, q, x) }
