package kern

// Mul writes a × b, value by value. dst may be a or b. Safe for concurrent use on
// distinct dst.
func (k *Kernels) Mul(dst, a, b []float32) {
	same("Mul", len(dst), len(a), len(b))
	touch(dst, a, b)
	k.vec.scaleMul(dst, a, b, 0, 1) // (a − 0) × 1 × b
}
