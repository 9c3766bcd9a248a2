package ptxsim

// Comparisons give a bit per lane.

func cmpInt[S integer](op string) func(a, b *row) uint32 {
	switch op {
	case "eq":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) == S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	case "ne":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) != S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	case "lt", "lo":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) < S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	case "le", "ls":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) <= S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	case "gt", "hi":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) > S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	case "ge", "hs":
		return func(a, b *row) (m uint32) {
			for i := range a {
				if S(a[i]) >= S(b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	}
	return nil
}

// floatTests are the comparisons of floats; those whose name ends in u are also true
// if one is NaN.
var floatTests = map[string]func(a, b float64) bool{
	"eq":  func(a, b float64) bool { return a == b },
	"ne":  func(a, b float64) bool { return a < b || a > b },
	"lt":  func(a, b float64) bool { return a < b },
	"le":  func(a, b float64) bool { return a <= b },
	"gt":  func(a, b float64) bool { return a > b },
	"ge":  func(a, b float64) bool { return a >= b },
	"equ": func(a, b float64) bool { return !(a < b || a > b) },
	"neu": func(a, b float64) bool { return a != b },
	"ltu": func(a, b float64) bool { return !(a >= b) },
	"leu": func(a, b float64) bool { return !(a > b) },
	"gtu": func(a, b float64) bool { return !(a <= b) },
	"geu": func(a, b float64) bool { return !(a < b) },
	"num": func(a, b float64) bool { return a == a && b == b },
	"nan": func(a, b float64) bool { return a != a || b != b },
}

func cmpFloat(op string, t typ, flushed bool) func(a, b *row) uint32 {
	f := floatTests[op]
	if f == nil {
		return nil
	}
	widen := widenings[t]
	if widen == nil {
		return nil
	}
	return func(a, b *row) (m uint32) {
		if flushed {
			var x, y row
			flush(&x, a)
			flush(&y, b)
			a, b = &x, &y
		}
		for i := range a {
			if f(widen(a[i]), widen(b[i])) {
				m |= 1 << i
			}
		}
		return m
	}
}

// widenings make a float64 of a float's bits.
var widenings = map[typ]func(v uint64) float64{
	{'f', 64}: f64,
	{'f', 32}: func(v uint64) float64 { return float64(f32(v)) },
	{'f', 16}: func(v uint64) float64 { return float64(f16(v)) },
	{'g', 16}: func(v uint64) float64 { return float64(bf16(v)) },
}

// compare is the comparison of a type, nil if there is none of that name.
func compare(op string, t typ, flushed bool) func(a, b *row) uint32 {
	unsignedOnly := op == "lo" || op == "ls" || op == "hi" || op == "hs"
	if unsignedOnly && t.kind != 'u' || t.kind == 'b' && op != "eq" && op != "ne" {
		return nil
	}
	if f := cmpFloat(op, t, flushed); f != nil {
		return f
	}
	switch t {
	case typ{'s', 16}:
		return cmpInt[int16](op)
	case typ{'s', 32}:
		return cmpInt[int32](op)
	case typ{'s', 64}:
		return cmpInt[int64](op)
	case typ{'u', 16}, typ{'b', 16}:
		return cmpInt[uint16](op)
	case typ{'u', 32}, typ{'b', 32}:
		return cmpInt[uint32](op)
	case typ{'u', 64}, typ{'b', 64}:
		return cmpInt[uint64](op)
	}
	return nil
}
