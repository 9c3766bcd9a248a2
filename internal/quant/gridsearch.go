package quant

// The quantisers of the grid formats search the whole grid for the nearest
// point: slow, and no better than their choice of scales, which takes none but
// the first guess.

// nearest8 returns the index of the point nearest to x × inv, whose signs it
// ignores, and the squared distance.
func nearest8(grid []point8, x []float32, inv float32) (int, float32) {
	var v point
	n := v.scale(x, inv, true)
	at, best := 0, v.far(grid[0][:], n, 0, 1e30)
	for i := range grid {
		if d := v.far(grid[i][:], n, 0, best); d < best {
			at, best = i, d
		}
	}
	return at, best
}

// nearest4 is nearest8 in four coordinates.
func nearest4(grid []point4, x []float32, inv float32) int {
	var v point
	n := v.scale(x, inv, true)
	at, best := 0, v.far(grid[0][:], n, 0, 1e30)
	for i := range grid {
		if d := v.far(grid[i][:], n, 0, best); d < best {
			at, best = i, d
		}
	}
	return at
}

// nearestSigned is nearest8 over points moved by shift, with signs.
func nearestSigned(grid []point8, x []float32, inv, shift float32) (int, float32) {
	var v point
	n := v.scale(x, inv, false)
	at, best := 0, v.far(grid[0][:], n, shift, 1e30)
	for i := range grid {
		if d := v.far(grid[i][:], n, shift, best); d < best {
			at, best = i, d
		}
	}
	return at, best
}

// point is what is searched for.
type point [8]float32

func (v *point) scale(x []float32, inv float32, abs bool) int {
	for i, f := range x {
		v[i] = f * inv
		if abs && v[i] < 0 {
			v[i] = -v[i]
		}
	}
	return len(x)
}

// far is the squared distance of a point, or more than limit if it is more.
func (v *point) far(p []int8, n int, shift, limit float32) float32 {
	var sum float32
	for i := range n {
		d := v[i] - float32(p[i]) - shift
		sum += float32(d * d)
		if sum > limit {
			break
		}
	}
	return sum
}

// signsOf returns the signs of 8 values; even: with the sign of the value of
// least magnitude turned where their number is odd.
func signsOf(x []float32, even bool) (s byte) {
	least, n := 0, 0
	for i, v := range x {
		if v < 0 {
			s |= 1 << i
			n++
		}
		if abs32(v) < abs32(x[least]) {
			least = i
		}
	}
	if even && n%2 == 1 {
		s ^= 1 << least
	}
	return s
}

func abs32(x float32) float32 { return max(x, -x) }

// oddScale returns the s in 0…top for which unit × (2s + 1) is nearest to step.
func oddScale(step, unit float32, top int32) int32 { return nearest(step-unit, 2*unit, 0, top) }

// inverse is 1 ÷ step, or 0 where there is none: an all-zero sub-block.
func inverse(step float32) float32 {
	if !(step > 0) {
		return 0
	}
	return 1 / step
}
