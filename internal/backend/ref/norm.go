package ref

import "github.com/paddock-go/paddock/internal/num"

// sumSquares adds the squares of x: a chain of fused multiply-adds in each of
// sixteen lanes, then the tree.
func sumSquares(x []float32) float32 {
	var lanes [16]float32
	for i, v := range x {
		lanes[i%16] = num.FMA32(v, v, lanes[i%16])
	}
	return num.Tree16(&lanes)
}

func sum(x []float32) float32 {
	var lanes [16]float32
	for i, v := range x {
		lanes[i%16] += v
	}
	return num.Tree16(&lanes)
}

// rmsNorm is out = x ÷ √(mean of squares + eps) × w (+ bias); every step
// rounds. A nil w counts as ones, a nil bias as none.
func rmsNorm(out, x, w, bias []float32, eps float32) {
	scale := 1 / num.Sqrt32(sumSquares(x)/float32(len(x))+eps)
	for i, v := range x {
		out[i] = float32(float32(v*scale) * w[i])
		if bias != nil {
			out[i] += bias[i]
		}
	}
}

// layerNorm is out = (x − mean) ÷ √(variance + eps) × w (+ bias); every step
// rounds, and the variance is of the rounded differences.
func layerNorm(out, x, w, bias []float32, eps float32) {
	mean := sum(x) / float32(len(x))
	for i, v := range x {
		out[i] = v - mean
	}
	scale := 1 / num.Sqrt32(sumSquares(out)/float32(len(x))+eps)
	for i, v := range out {
		out[i] = float32(float32(v*scale) * w[i])
		if bias != nil {
			out[i] += bias[i]
		}
	}
}
