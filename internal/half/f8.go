package half

import "math"

// f8E4M3 holds the value of each code:
//
//	┌─┬────┬───┐  s·2^(e−7)·(1 + m/8), where e is not 0
//	│s│ e  │ m │  s·2^(−6)·(m/8),     where e is 0
//	└─┴────┴───┘  no number,          where e and m are all ones; no infinities
var f8E4M3 = func() (table [256]float32) {
	for code := range table {
		e, m := code>>3&15, float64(code&7)
		v := math.Ldexp(m, -9)
		if e > 0 {
			v = math.Ldexp(8+m, e-10)
		}
		if code&0x7f == 0x7f {
			v = math.NaN()
		}
		table[code] = float32(v) // exact: four significant bits
		if code >= 0x80 {
			table[code] = float32(math.Copysign(v, -1))
		}
	}
	return table
}()

// F8E4M3ToF32 returns the value of an 8-bit float of 4 bits exponent and 3 bits
// mantissa, exactly. Safe for concurrent use.
func F8E4M3ToF32(code uint8) float32 { return f8E4M3[code] }
