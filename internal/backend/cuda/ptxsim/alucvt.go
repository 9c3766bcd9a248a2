package ptxsim

import "math"

// convert makes the function of one lane for cvt, nil if there is no such cvt.
// rnd is "", rn, rz, rm, rp or those with an i for "to an integral value".
func convert(to, from typ, rnd string, sat bool, wide uint64) func(v uint64) uint64 {
	fromFloat, toFloat := isFloat(from), isFloat(to)
	switch {
	case !fromFloat && !toFloat:
		return convertInt(to, from, sat, wide, rnd)
	case fromFloat && !toFloat:
		return floatToInt(to, from, rnd, wide)
	case !fromFloat && toFloat:
		return intToFloat(to, from, rnd)
	}
	return floatToFloat(to, from, rnd, sat)
}

func isFloat(t typ) bool { return t.kind == 'f' || t.kind == 'g' }

// extend reads an integer of a type.
func extend(v uint64, t typ) int64 {
	shift := 64 - t.bits
	if t.kind == 's' {
		return int64(v<<shift) >> shift
	}
	return int64(v << shift >> shift)
}

func convertInt(to, from typ, sat bool, wide uint64, rnd string) func(v uint64) uint64 {
	if rnd != "" {
		return nil
	}
	if to.kind == 's' {
		// A signed result fills its register.
	} else {
		wide &= to.mask()
	}
	return func(v uint64) uint64 {
		x := extend(v, from)
		if sat {
			x = clampInt(x, from, to)
		}
		return uint64(extend(uint64(x), to)) & wide
	}
}

func clampInt(x int64, from, to typ) int64 {
	if from.kind != 's' && x < 0 { // an unsigned value past 2^63
		if to.kind == 's' {
			return int64(to.mask() >> 1)
		}
		return int64(to.mask())
	}
	if to.kind == 's' {
		top := int64(to.mask() >> 1)
		return max(min(x, top), -top-1)
	}
	if x < 0 {
		return 0
	}
	if to.bits < 64 {
		x = min(x, int64(to.mask()))
	}
	return x
}

// integral are the roundings to an integral value.
var integral = map[string]func(float64) float64{
	"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
}

func floatToInt(to, from typ, rnd string, wide uint64) func(v uint64) uint64 {
	round, widen := integral[rnd], widenings[from]
	if round == nil || widen == nil || from.kind == 'g' {
		return nil
	}
	top := math.Ldexp(1, to.bits)
	low := 0.0
	if to.kind == 's' {
		top = math.Ldexp(1, to.bits-1)
		low = -top
	}
	if to.kind != 's' {
		wide &= to.mask()
	}
	return func(v uint64) uint64 {
		x := round(widen(v))
		switch {
		case x != x:
			return 0
		case x < low:
			return uint64(int64(low)) & wide
		case x >= top && to.kind == 's':
			return to.mask() >> 1
		case x >= top:
			return to.mask()
		case to.kind == 's':
			return uint64(int64(x)) & wide
		}
		return uint64(x) & wide
	}
}

func intToFloat(to, from typ, rnd string) func(v uint64) uint64 {
	if rnd != "rn" || to.kind == 'g' {
		return nil
	}
	if to.bits == 64 {
		if from.kind == 's' {
			return func(v uint64) uint64 { return bits64(float64(extend(v, from))) }
		}
		return func(v uint64) uint64 { return bits64(float64(uint64(extend(v, from)))) }
	}
	if to.bits == 32 {
		if from.kind == 's' {
			return func(v uint64) uint64 { return bits32(float32(extend(v, from))) }
		}
		return func(v uint64) uint64 { return bits32(float32(uint64(extend(v, from)))) }
	}
	if from.bits > 32 { // not exact in float64, and rounded twice
		return nil
	}
	return func(v uint64) uint64 { return bits16(odd32(float64(extend(v, from)), 0)) }
}

func floatToFloat(to, from typ, rnd string, sat bool) func(v uint64) uint64 {
	widen := widenings[from]
	var narrow func(f float64) uint64
	whole := integral[rnd]
	switch {
	case to == from || to.bits > from.bits:
		if to == from && to.bits == 16 && whole == nil || whole == nil && rnd != "" || from.kind == 'g' || to.kind == 'g' {
			return nil
		}
		narrow = narrowings[to][""]
	case whole != nil:
		return nil
	default:
		narrow = narrowings[to][rnd]
	}
	if narrow == nil {
		return nil
	}
	return func(v uint64) uint64 {
		f := widen(v)
		if whole != nil {
			f = whole(f)
		}
		if sat {
			if !(f > 0) {
				f = 0
			}
			f = min(f, 1)
		}
		return narrow(f)
	}
}

// narrowings round a float64 to a float; "" is for values that fit.
var narrowings = map[typ]map[string]func(f float64) uint64{
	{'f', 64}: {"": bits64},
	{'f', 32}: {
		"":   func(f float64) uint64 { return bits32(float32(f)) },
		"rn": func(f float64) uint64 { return bits32(float32(f)) },
		"rz": func(f float64) uint64 { return bits32(towardZero32(f)) },
	},
	{'f', 16}: {
		"":   func(f float64) uint64 { return bits16(odd32(f, 0)) },
		"rn": func(f float64) uint64 { return bits16(odd32(f, 0)) },
		"rz": func(f float64) uint64 { return towardZero16(f) },
	},
	{'g', 16}: {
		"rn": func(f float64) uint64 { return bitsBF16(odd32(f, 0)) },
		"rz": func(f float64) uint64 { return bits32(towardZero32(f)) >> 16 },
	},
}

// towardZero32 drops what doesn't fit.
func towardZero32(f float64) float32 {
	r := float32(f)
	if math.Abs(float64(r)) > math.Abs(f) {
		return math.Float32frombits(math.Float32bits(r) - 1)
	}
	return r
}

// towardZero16 drops what doesn't fit; past the range that is the largest half.
func towardZero16(f float64) uint64 {
	r := bits16(odd32(f, 0))
	if math.Abs(float64(f16(r))) > math.Abs(f) {
		r--
	}
	return r
}

// tf32 rounds to 10 bits of fraction, ties away from zero (cvt.rna).
func tf32(v uint64) uint64 {
	if v&0x7f800000 == 0x7f800000 {
		return v
	}
	return (v + 0x1000) & 0xffffe000
}
