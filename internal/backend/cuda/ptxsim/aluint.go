package ptxsim

import "math/bits"

// Integer arithmetic. S is the type as computed, U the unsigned type of its width,
// so that a row's upper bits stay zero.

type unsigned interface{ ~uint16 | ~uint32 | ~uint64 }
type integer interface {
	~int16 | ~int32 | ~int64 | ~uint16 | ~uint32 | ~uint64
}

func addI[U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(a[i]) + U(b[i]))
	}
}

func subI[U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(a[i]) - U(b[i]))
	}
}

func mulI[U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(a[i]) * U(b[i]))
	}
}

func madI[U unsigned](d, a, b, c *row) {
	for i := range d {
		d[i] = uint64(U(a[i])*U(b[i]) + U(c[i]))
	}
}

func minI[S integer, U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(min(S(a[i]), S(b[i]))))
	}
}

func maxI[S integer, U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(max(S(a[i]), S(b[i]))))
	}
}

// divI gives all ones for a division by zero, as cards do.
func divI[S integer, U unsigned](d, a, b, _ *row) {
	for i := range d {
		if S(b[i]) == 0 {
			d[i] = uint64(^U(0))
			continue
		}
		d[i] = uint64(U(S(a[i]) / S(b[i])))
	}
}

func remI[S integer, U unsigned](d, a, b, _ *row) {
	for i := range d {
		if S(b[i]) == 0 {
			d[i] = uint64(U(a[i]))
			continue
		}
		d[i] = uint64(U(S(a[i]) % S(b[i])))
	}
}

func absI[S integer, U unsigned](d, a, _, _ *row) {
	for i := range d {
		v := S(a[i])
		if v < 0 {
			v = -v
		}
		d[i] = uint64(U(v))
	}
}

func negI[U unsigned](d, a, _, _ *row) {
	for i := range d {
		d[i] = uint64(-U(a[i]))
	}
}

func notI[U unsigned](d, a, _, _ *row) {
	for i := range d {
		d[i] = uint64(^U(a[i]))
	}
}

func cnotI[U unsigned](d, a, _, _ *row) {
	for i := range d {
		d[i] = 0
		if U(a[i]) == 0 {
			d[i] = 1
		}
	}
}

func wide16s(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(int32(int16(a[i])) * int32(int16(b[i]))))
	}
}

func wide16u(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(uint16(a[i])) * uint32(uint16(b[i])))
	}
}

func wide32s(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
	}
}

func wide32u(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(a[i])) * uint64(uint32(b[i]))
	}
}

func hi16s(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint16(int32(int16(a[i])) * int32(int16(b[i])) >> 16))
	}
}

func hi16u(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(uint16(a[i])) * uint32(uint16(b[i])) >> 16)
	}
}

func hi32s(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(int64(int32(a[i])) * int64(int32(b[i])) >> 32))
	}
}

func hi32u(d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(uint32(a[i])) * uint64(uint32(b[i])) >> 32
	}
}

func hi64s(d, a, b, _ *row) {
	for i := range d {
		h, _ := bits.Mul64(a[i], b[i])
		// The unsigned product counts a negative factor 2^64 too much.
		d[i] = h - a[i]*(b[i]>>63) - b[i]*(a[i]>>63)
	}
}

func hi64u(d, a, b, _ *row) {
	for i := range d {
		d[i], _ = bits.Mul64(a[i], b[i])
	}
}

// then adds the third operand to what f makes of the first two.
func then(f, add alu) alu {
	return func(d, a, b, c *row) {
		var t row
		f(&t, a, b, nil)
		add(d, &t, c, nil)
	}
}

func mulAdd32s(d, a, b, c *row) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i]))*int64(int32(b[i])) + int64(c[i]))
	}
}

func mulAdd32u(d, a, b, c *row) {
	for i := range d {
		d[i] = uint64(uint32(a[i]))*uint64(uint32(b[i])) + c[i]
	}
}

// Shifts: an amount past the width counts as the width.

func shlI[U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(a[i]) << uint32(b[i]))
	}
}

func shrI[S integer, U unsigned](d, a, b, _ *row) {
	for i := range d {
		d[i] = uint64(U(S(a[i]) >> uint32(b[i])))
	}
}

func andB(d, a, b, _ *row) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func orB(d, a, b, _ *row) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xorB(d, a, b, _ *row) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func move(d, a, _, _ *row) { *d = *a }

// lift1, lift2 and lift3 make an alu of a function of one lane.
func lift1(f func(a uint64) uint64) alu {
	return func(d, a, _, _ *row) {
		for i := range d {
			d[i] = f(a[i])
		}
	}
}

func lift2(f func(a, b uint64) uint64) alu {
	return func(d, a, b, _ *row) {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

func lift3(f func(a, b, c uint64) uint64) alu {
	return func(d, a, b, c *row) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}
