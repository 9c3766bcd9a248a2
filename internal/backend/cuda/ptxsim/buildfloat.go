package ptxsim

import "math"

// floatOps are operations of floats by base name and type, as rounded to nearest.
var floatOps = map[string]map[typ]alu{
	"add": {
		{'f', 32}: addF32, {'f', 64}: double2(func(a, b float64) float64 { return a + b }),
		{'f', 16}: half2(func(a, b float64) float64 { return a + b }), {'h', 32}: packed(half2(func(a, b float64) float64 { return a + b })),
	},
	"sub": {
		{'f', 32}: subF32, {'f', 64}: double2(func(a, b float64) float64 { return a - b }),
		{'f', 16}: half2(func(a, b float64) float64 { return a - b }), {'h', 32}: packed(half2(func(a, b float64) float64 { return a - b })),
	},
	"mul": {
		{'f', 32}: mulF32, {'f', 64}: double2(func(a, b float64) float64 { return a * b }),
		{'f', 16}: half2(func(a, b float64) float64 { return a * b }), {'h', 32}: packed(half2(func(a, b float64) float64 { return a * b })),
	},
	"div": {{'f', 32}: divF32, {'f', 64}: double2(func(a, b float64) float64 { return a / b })},
	"fma": {
		{'f', 32}: fmaF32, {'f', 64}: lift3(func(a, b, c uint64) uint64 { return bits64(math.FMA(f64(a), f64(b), f64(c))) }),
		{'f', 16}: lift3(fmaF16), {'h', 32}: packed(lift3(fmaF16)),
		{'g', 16}: lift3(fmaBF16), {'j', 32}: packed(lift3(fmaBF16)),
	},
	"min": {
		{'f', 32}: minF32, {'f', 64}: double2(minNum[float64]), {'f', 16}: half2(minNum[float64]), {'h', 32}: packed(half2(minNum[float64])),
		{'g', 16}: brain2(minNum[float64]), {'j', 32}: packed(brain2(minNum[float64])),
	},
	"max": {
		{'f', 32}: maxF32, {'f', 64}: double2(maxNum[float64]), {'f', 16}: half2(maxNum[float64]), {'h', 32}: packed(half2(maxNum[float64])),
		{'g', 16}: brain2(maxNum[float64]), {'j', 32}: packed(brain2(maxNum[float64])),
	},
	"min.NaN": {
		{'f', 32}: lift2(func(a, b uint64) uint64 { return strict32(min(f32(a), f32(b))) }),
		{'f', 16}: half2(strictMin), {'h', 32}: packed(half2(strictMin)), {'g', 16}: brain2(strictMin), {'j', 32}: packed(brain2(strictMin)),
	},
	"max.NaN": {
		{'f', 32}: lift2(func(a, b uint64) uint64 { return strict32(max(f32(a), f32(b))) }),
		{'f', 16}: half2(strictMax), {'h', 32}: packed(half2(strictMax)), {'g', 16}: brain2(strictMax), {'j', 32}: packed(brain2(strictMax)),
	},
	"abs": {
		{'f', 32}: lift1(func(a uint64) uint64 { return a & 0x7fffffff }), {'f', 64}: lift1(func(a uint64) uint64 { return a &^ (1 << 63) }),
		{'f', 16}: lift1(func(a uint64) uint64 { return a & 0x7fff }), {'h', 32}: lift1(func(a uint64) uint64 { return a & 0x7fff7fff }),
		{'g', 16}: lift1(func(a uint64) uint64 { return a & 0x7fff }), {'j', 32}: lift1(func(a uint64) uint64 { return a & 0x7fff7fff }),
	},
	"neg": {
		{'f', 32}: lift1(func(a uint64) uint64 { return a ^ 0x80000000 }), {'f', 64}: lift1(func(a uint64) uint64 { return a ^ 1<<63 }),
		{'f', 16}: lift1(func(a uint64) uint64 { return a ^ 0x8000 }), {'h', 32}: lift1(func(a uint64) uint64 { return a ^ 0x80008000 }),
		{'g', 16}: lift1(func(a uint64) uint64 { return a ^ 0x8000 }), {'j', 32}: lift1(func(a uint64) uint64 { return a ^ 0x80008000 }),
	},
	"sqrt":  {{'f', 32}: float1(typ{'f', 32}, math.Sqrt), {'f', 64}: float1(typ{'f', 64}, math.Sqrt)},
	"rcp":   {{'f', 32}: float1(typ{'f', 32}, inverse), {'f', 64}: float1(typ{'f', 64}, inverse)},
	"rsqrt": {{'f', 32}: float1(typ{'f', 32}, inverseRoot), {'f', 64}: float1(typ{'f', 64}, inverseRoot)},
	"ex2":   {{'f', 32}: float1(typ{'f', 32}, math.Exp2)},
	"lg2":   {{'f', 32}: float1(typ{'f', 32}, math.Log2)},
	"sin":   {{'f', 32}: float1(typ{'f', 32}, math.Sin)},
	"cos":   {{'f', 32}: float1(typ{'f', 32}, math.Cos)},
	"tanh":  {{'f', 32}: float1(typ{'f', 32}, math.Tanh)},
	"copysign": {
		{'f', 32}: lift2(func(a, b uint64) uint64 { return b&0x7fffffff | a&0x80000000 }),
		{'f', 64}: lift2(func(a, b uint64) uint64 { return b&^(1<<63) | a&(1<<63) }),
	},
}

// Minima and maxima that are NaN if an operand is.

func strictMin(a, b float64) float64 { return min(a, b) }
func strictMax(a, b float64) float64 { return max(a, b) }

// strict32 gives the one NaN that cards make.
func strict32(f float32) uint64 {
	if f != f {
		return 0x7fffffff
	}
	return bits32(f)
}

func inverse(x float64) float64     { return 1 / x }
func inverseRoot(x float64) float64 { return 1 / math.Sqrt(x) }

// roundings says which first modifiers a float operation may have; "" is none.
var roundings = map[string][]string{
	"add": {"rn", ""}, "sub": {"rn", ""}, "mul": {"rn", ""}, "fma": {"rn"}, "mad": {"rn"},
	"div": {"rn", "approx", "full"}, "sqrt": {"rn", "approx"}, "rcp": {"rn", "approx"}, "rsqrt": {"approx"},
	"ex2": {"approx"}, "lg2": {"approx"}, "sin": {"approx"}, "cos": {"approx"}, "tanh": {"approx"},
	"min": {""}, "max": {""}, "abs": {""}, "neg": {""}, "copysign": {""},
}

// buildFloat builds what floatOps has: n operands are read.
func buildFloat(n int) func(s *stmt, in *instr) {
	return func(s *stmt, in *instr) {
		base := s.base
		if base == "mad" {
			base = "fma"
		}
		rnd := s.mod("rn", "approx", "full")
		flushed := s.has("ftz")
		sat := s.has("sat")
		op := base
		if s.has("NaN") {
			op += ".NaN"
		}
		t := s.typ()
		known := false
		for _, r := range roundings[base] {
			known = known || r == rnd
		}
		f := floatOps[op][t]
		if f == nil || !known || (flushed || sat) && t != (typ{'f', 32}) {
			s.fail("instruction %s is not known", s.name)
			return
		}
		if flushed {
			f = ftz(f)
		}
		if sat {
			f = saturate(f)
		}
		in.alu = f
		if !s.want(n+1, n+1) {
			return
		}
		in.d = s.dst(0, t.bits)
		rows := []*int32{&in.a, &in.b, &in.c}
		for i := range n {
			*rows[i] = s.src(i+1, t.bits)
		}
	}
}

// either builds an integer or a float operation by the type in the name.
func either(n int) func(s *stmt, in *instr) {
	ints, floats := buildInt(n), buildFloat(n)
	return func(s *stmt, in *instr) {
		for _, m := range s.mods {
			switch types[m].kind {
			case 'f', 'g', 'h', 'j':
				floats(s, in)
				return
			}
		}
		ints(s, in)
	}
}
