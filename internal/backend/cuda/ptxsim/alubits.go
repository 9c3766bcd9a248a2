package ptxsim

import "math/bits"

// Bits and bytes.

func lop3(table uint64) alu {
	if table == 0xea { // (a & b) | c and its like are what compilers make most
		return func(d, a, b, c *row) {
			for i := range d {
				d[i] = a[i]&b[i] | c[i]
			}
		}
	}
	return func(d, a, b, c *row) {
		for i := range d {
			x, y, z := a[i], b[i], c[i]
			var r uint64
			for t := range uint(8) {
				if table>>t&1 == 0 {
					continue
				}
				m := ^uint64(0)
				for j, v := range [3]uint64{z, y, x} {
					if t>>j&1 == 0 {
						v = ^v
					}
					m &= v
				}
				r |= m
			}
			d[i] = uint64(uint32(r))
		}
	}
}

// shiftFunnel shifts the 64 bits b:a, of which .l keeps the upper and .r the lower
// half.
func shiftFunnel(left, wrap bool) alu {
	return lift3(func(a, b, c uint64) uint64 {
		n := uint64(uint32(c))
		if wrap {
			n &= 31
		} else {
			n = min(n, 32)
		}
		v := b<<32 | a&0xffffffff
		if left {
			return v << n >> 32
		}
		return uint64(uint32(v >> n))
	})
}

// prmt picks four bytes of the eight of b:a by the nibbles of c.
func prmt(d, a, b, c *row) {
	for i := range d {
		v := b[i]<<32 | a[i]&0xffffffff
		var r uint64
		for j := range 4 {
			sel := c[i] >> (4 * j) & 15
			x := v >> (8 * (sel & 7)) & 255
			if sel&8 != 0 { // its sign, eight times
				x = -(x >> 7) & 255
			}
			r |= x << (8 * j)
		}
		d[i] = r
	}
}

func bfe(width int, signed bool) alu {
	return lift3(func(a, b, c uint64) uint64 {
		pos, n := int(b&255), int(c&255)
		msb := width - 1
		if width == 32 {
			a &= 0xffffffff
		}
		var sign uint64
		if signed && n > 0 {
			sign = a >> min(pos+n-1, msb) & 1
		}
		var r uint64
		for i := range width {
			bit := sign
			if i < n && pos+i <= msb {
				bit = a >> (pos + i) & 1
			}
			r |= bit << i
		}
		return r
	})
}

func bfi(width int, a, b uint64, pos, n int) uint64 {
	for i := 0; i < n && pos+i < width; i++ {
		b = b&^(1<<(pos+i)) | a>>i&1<<(pos+i)
	}
	return b
}

func popc32(d, a, _, _ *row) {
	for i := range d {
		d[i] = uint64(bits.OnesCount32(uint32(a[i])))
	}
}

func bfind(width int, signed, amount bool) alu {
	return lift1(func(a uint64) uint64 {
		shift := 64 - width
		v := a << shift
		if signed && int64(v) < 0 {
			v = ^v &^ (1<<shift - 1)
		}
		at := 63 - bits.LeadingZeros64(v) - shift
		if v == 0 {
			return 0xffffffff
		}
		if amount {
			at = width - 1 - at
		}
		return uint64(uint32(at))
	})
}

func dp4a(sa, sb bool) alu {
	if sa && sb {
		return func(d, a, b, c *row) {
			for i := range d {
				x, y := uint32(a[i]), uint32(b[i])
				d[i] = uint64(uint32(int32(c[i]) + int32(int8(x))*int32(int8(y)) + int32(int8(x>>8))*int32(int8(y>>8)) +
					int32(int8(x>>16))*int32(int8(y>>16)) + int32(x)>>24*(int32(y)>>24)))
			}
		}
	}
	return lift3(func(a, b, c uint64) uint64 {
		sum := uint32(c)
		for j := range 4 {
			sum += uint32(byteOf(a, j, sa) * byteOf(b, j, sb))
		}
		return uint64(sum)
	})
}

func byteOf(v uint64, j int, signed bool) int32 {
	if signed {
		return int32(int8(v >> (8 * j)))
	}
	return int32(uint8(v >> (8 * j)))
}

// dp2a multiplies two halves of a by two bytes of b.
func dp2a(sa, sb, high bool) alu {
	return lift3(func(a, b, c uint64) uint64 {
		sum := uint32(c)
		for j := range 2 {
			x := int32(uint16(a >> (16 * j)))
			if sa {
				x = int32(int16(x))
			}
			at := j
			if high {
				at += 2
			}
			sum += uint32(x * byteOf(b, at, sb))
		}
		return uint64(sum)
	})
}
