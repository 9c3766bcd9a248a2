package ptxsim

import "math/bits"

// atomics are the operations of atom and red: what memory holds after, of what it
// held and the operands.
var atomics = map[string]map[string]func(old, b, c uint64) uint64{
	"add": {"u32": sum, "s32": sum, "u64": sum,
		"f32":   func(old, b, _ uint64) uint64 { return bits32(f32(old) + f32(b)) },
		"f64":   func(old, b, _ uint64) uint64 { return bits64(f64(old) + f64(b)) },
		"f16x2": func(old, b, _ uint64) uint64 { return addHalves(old, b) }},
	"min": {"u32": func(old, b, _ uint64) uint64 { return uint64(min(uint32(old), uint32(b))) },
		"s32": func(old, b, _ uint64) uint64 { return uint64(uint32(min(int32(old), int32(b)))) },
		"u64": func(old, b, _ uint64) uint64 { return min(old, b) },
		"s64": func(old, b, _ uint64) uint64 { return uint64(min(int64(old), int64(b))) }},
	"max": {"u32": func(old, b, _ uint64) uint64 { return uint64(max(uint32(old), uint32(b))) },
		"s32": func(old, b, _ uint64) uint64 { return uint64(uint32(max(int32(old), int32(b)))) },
		"u64": func(old, b, _ uint64) uint64 { return max(old, b) },
		"s64": func(old, b, _ uint64) uint64 { return uint64(max(int64(old), int64(b))) }},
	"and":  {"b32": func(old, b, _ uint64) uint64 { return old & b }, "b64": func(old, b, _ uint64) uint64 { return old & b }},
	"or":   {"b32": func(old, b, _ uint64) uint64 { return old | b }, "b64": func(old, b, _ uint64) uint64 { return old | b }},
	"xor":  {"b32": func(old, b, _ uint64) uint64 { return old ^ b }, "b64": func(old, b, _ uint64) uint64 { return old ^ b }},
	"exch": {"b32": func(_, b, _ uint64) uint64 { return b }, "b64": func(_, b, _ uint64) uint64 { return b }},
	"cas":  {"b32": swap, "b64": swap, "b16": swap},
	"inc": {"u32": func(old, b, _ uint64) uint64 {
		if uint32(old) >= uint32(b) {
			return 0
		}
		return old + 1
	}},
	"dec": {"u32": func(old, b, _ uint64) uint64 {
		if uint32(old) == 0 || uint32(old) > uint32(b) {
			return b
		}
		return old - 1
	}},
}

func sum(old, b, _ uint64) uint64 { return old + b }

func swap(old, b, c uint64) uint64 {
	if old == b {
		return c
	}
	return old
}

func addHalves(a, b uint64) uint64 {
	low := bits16(odd32(float64(f16(a))+float64(f16(b)), 0))
	high := bits16(odd32(float64(f16(a>>16))+float64(f16(b>>16)), 0))
	return high<<16 | low
}

// runAtomic does the lanes in a random order.
func runAtomic(w *warp, in *instr, m uint32) {
	x := in.x
	keep := typ{'b', 8 * x.size}.mask()
	first := int(w.b.r.random() & 31)
	for i := range 32 {
		l := (first + i) & 31
		if m>>l&1 == 0 {
			continue
		}
		b := w.bytesAt(x.space, l, w.address(in, l), uint64(x.size), access{write: true, atomic: true, modify: true})
		old := loadBytes(b, x.size)
		var c uint64
		if in.c >= 0 {
			c = w.rows[in.c][l] & keep
		}
		storeBytes(b, x.size, x.op(old, w.rows[in.b][l]&keep, c))
		if in.d >= 0 {
			w.rows[in.d][l] = old
		}
	}
}

// buildAtomic is atom and red.
func buildAtomic(s *stmt, in *instr) {
	red := s.base == "red"
	s.mod("relaxed", "acquire", "release", "acq_rel")
	s.mod("cta", "gpu", "sys")
	sp := generic
	if m := s.mod("global", "shared"); m != "" {
		sp = spaces[m]
	}
	s.mod("cta", "gpu", "sys")
	op := s.mod("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
	s.has("noftz")
	name := ""
	if len(s.mods) > 0 {
		name = s.mods[0]
	}
	t := s.typ()
	x := &extra{size: t.bits / 8, op: atomics[op][name]}
	if x.op == nil || red && (op == "exch" || op == "cas") {
		s.fail("instruction %s is not known", s.name)
		return
	}
	at, n := 1, 3
	if red {
		at, n = 0, 2
	}
	if op == "cas" {
		n++
	}
	if !s.want(n, n) {
		return
	}
	s.addr(at, in, x, sp)
	in.d, in.c = -1, -1
	if !red {
		in.d = s.dst(0, t.bits)
	}
	in.b = s.src(at+1, t.bits)
	if op == "cas" {
		in.c = s.src(at+2, t.bits)
	}
	in.x, in.run = x, runAtomic
}

// lowest is the first lane of a mask.
func lowest(m uint32) int { return bits.TrailingZeros32(m) }
