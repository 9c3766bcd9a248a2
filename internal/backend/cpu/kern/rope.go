package kern

// RopeHalves rotates the pairs (i, i + n/2) of the first n = 2 × len(cos)
// values of x by the angles whose cosines and sines are given:
//
//	x[i], x[i+n/2] = x[i] × cos − x[i+n/2] × sin,  x[i] × sin + x[i+n/2] × cos
//
// each product and sum rounded to float32. Safe for concurrent use on distinct x.
func (k *Kernels) RopeHalves(x, cos, sin []float32) {
	n := len(cos)
	a, b := x[:n], x[n:2*n]
	sin = sin[:n]
	for i, c := range cos {
		s := sin[i]
		u, v := a[i], b[i]
		a[i] = float32(u*c) - float32(v*s)
		b[i] = float32(u*s) + float32(v*c)
	}
}

// RopePairs is RopeHalves for the pairs (2i, 2i + 1). Safe for concurrent use
// on distinct x.
func (k *Kernels) RopePairs(x, cos, sin []float32) {
	x, sin = x[:2*len(cos)], sin[:len(cos)]
	for i, c := range cos {
		s := sin[i]
		u, v := x[2*i], x[2*i+1]
		x[2*i] = float32(u*c) - float32(v*s)
		x[2*i+1] = float32(u*s) + float32(v*c)
	}
}
