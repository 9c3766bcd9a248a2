package kern

// RopeHalves rotates the pairs (i, i + n/2) of the first n = 2 × len(cos)
// values of x by the angles whose cosines and sines are given:
//
//	x[i], x[i+n/2] = x[i] × cos − x[i+n/2] × sin,  x[i] × sin + x[i+n/2] × cos
//
// each product and sum rounded to float32. Safe for concurrent use on distinct x.
func (k *Kernels) RopeHalves(x, cos, sin []float32) {
	n := len(cos)
	touch(x[:2*n], cos, sin[:n])
	k.vec.ropeHalves(x[:n], x[n:2*n], cos, sin[:n])
}

// RopePairs is RopeHalves for the pairs (2i, 2i + 1). Safe for concurrent use
// on distinct x.
func (k *Kernels) RopePairs(x, cos, sin []float32) {
	n := len(cos)
	touch(x[:2*n], cos, sin[:n])
	k.vec.ropePairs(x[:2*n], cos, sin[:n])
}

func ropeHalves(a, b, cos, sin []float32) {
	for i, c := range cos {
		s, u, v := sin[i], a[i], b[i]
		a[i] = float32(u*c) - float32(v*s)
		b[i] = float32(u*s) + float32(v*c)
	}
}

func ropePairs(x, cos, sin []float32) {
	for i, c := range cos {
		s, u, v := sin[i], x[2*i], x[2*i+1]
		x[2*i] = float32(u*c) - float32(v*s)
		x[2*i+1] = float32(u*s) + float32(v*c)
	}
}
