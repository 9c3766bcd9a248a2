package sample

// uniform is the draw for one token: a number in [0, 1) that depends on nothing
// but its arguments. The mixing function is SplitMix64's finaliser (Steele, Lea
// and Flood, "Fast splittable pseudorandom number generators", 2014), applied to
// a counter made of the three.
func uniform(seed uint64, choice, pos int) float64 {
	x := mix(seed + 0x9e3779b97f4a7c15)
	x = mix(x ^ (uint64(choice)+1)*0xd1342543de82ef95)
	x = mix(x ^ (uint64(pos)+1)*0x9e3779b97f4a7c15)
	return float64(x>>11) * (1.0 / (1 << 53))
}

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
