package quant

// A tq1_0 block is 256 values of −1, 0 and 1 times d, five to a byte. A byte is
// a fraction of 256 whose first five ternary digits, each plus 1, are values:
// digit n of byte c is the whole part of (c × 3ⁿ mod 256) × 3 ÷ 256.
//
//	┌───────────────────────────┬─────────┬──────┐
//	│ 48 bytes                  │ 4 bytes │ d f16│
//	└───────────────────────────┴─────────┴──────┘
//	0                           48        52    54
//
// Digit n of the first 32 bytes are values 32n to 32n + 31, of the next 16
// bytes values 160 + 16n…, of the last 4, which have four digits, 240 + 4n….
const tq1_0Bytes = 48 + 4 + 2

// tq1Parts are runs of bytes whose digits lie together: the first byte, how
// many there are, how many digits each has, and the first value.
var tq1Parts = [3]struct{ at, bytes, digits, value int }{{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}}

func takeTQ1_0(b []byte) (t Taken) {
	t.plain(f16At(b[52:]))
	for _, p := range tq1Parts {
		for i, c := range b[p.at : p.at+p.bytes] {
			for n := range p.digits {
				t.Q[p.value+n*p.bytes+i] = int8(uint16(c)*3>>8) - 1
				c *= 3
			}
		}
	}
	return t
}

func encodeTQ1_0(b []byte, x []float32) {
	d := putF16(b[52:], maxAbs(x))
	for _, p := range tq1Parts {
		for i := range p.bytes {
			var c uint32 // as an integer of five ternary digits
			for n := range 5 {
				c *= 3
				if n < p.digits {
					c += uint32(nearest(x[p.value+n*p.bytes+i], d, -1, 1) + 1)
				}
			}
			b[p.at+i] = byte((c*256 + 242) / 243) // rounded up, so that no digit falls short
		}
	}
}
