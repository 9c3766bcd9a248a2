package ptxsim

import "math/bits"

// intOps are integer operations by base name and type.
var intOps = map[string]map[string]alu{
	"add":      {"u16": addI[uint16], "u32": addI[uint32], "u64": addI[uint64], "s16": addI[uint16], "s32": addI[uint32], "s64": addI[uint64]},
	"sub":      {"u16": subI[uint16], "u32": subI[uint32], "u64": subI[uint64], "s16": subI[uint16], "s32": subI[uint32], "s64": subI[uint64]},
	"mul.lo":   {"u16": mulI[uint16], "u32": mulI[uint32], "u64": mulI[uint64], "s16": mulI[uint16], "s32": mulI[uint32], "s64": mulI[uint64]},
	"mul.hi":   {"u16": hi16u, "u32": hi32u, "u64": hi64u, "s16": hi16s, "s32": hi32s, "s64": hi64s},
	"mul.wide": {"u16": wide16u, "u32": wide32u, "s16": wide16s, "s32": wide32s},
	"mad.lo":   {"u16": madI[uint16], "u32": madI[uint32], "u64": madI[uint64], "s16": madI[uint16], "s32": madI[uint32], "s64": madI[uint64]},
	"mad.hi": {"u16": then(hi16u, addI[uint16]), "u32": then(hi32u, addI[uint32]), "u64": then(hi64u, addI[uint64]),
		"s16": then(hi16s, addI[uint16]), "s32": then(hi32s, addI[uint32]), "s64": then(hi64s, addI[uint64])},
	"mad.wide": {"u16": then(wide16u, addI[uint32]), "u32": mulAdd32u, "s16": then(wide16s, addI[uint32]), "s32": mulAdd32s},
	"div": {"u16": divI[uint16, uint16], "u32": divI[uint32, uint32], "u64": divI[uint64, uint64],
		"s16": divI[int16, uint16], "s32": divI[int32, uint32], "s64": divI[int64, uint64]},
	"rem": {"u16": remI[uint16, uint16], "u32": remI[uint32, uint32], "u64": remI[uint64, uint64],
		"s16": remI[int16, uint16], "s32": remI[int32, uint32], "s64": remI[int64, uint64]},
	"min": {"u16": minI[uint16, uint16], "u32": minI[uint32, uint32], "u64": minI[uint64, uint64],
		"s16": minI[int16, uint16], "s32": minI[int32, uint32], "s64": minI[int64, uint64]},
	"max": {"u16": maxI[uint16, uint16], "u32": maxI[uint32, uint32], "u64": maxI[uint64, uint64],
		"s16": maxI[int16, uint16], "s32": maxI[int32, uint32], "s64": maxI[int64, uint64]},
	"abs":  {"s16": absI[int16, uint16], "s32": absI[int32, uint32], "s64": absI[int64, uint64]},
	"neg":  {"s16": negI[uint16], "s32": negI[uint32], "s64": negI[uint64]},
	"not":  {"b16": notI[uint16], "b32": notI[uint32], "b64": notI[uint64]},
	"cnot": {"b16": cnotI[uint16], "b32": cnotI[uint32], "b64": cnotI[uint64]},
	"and":  {"b16": andB, "b32": andB, "b64": andB},
	"or":   {"b16": orB, "b32": orB, "b64": orB},
	"xor":  {"b16": xorB, "b32": xorB, "b64": xorB},
	"shl":  {"b16": shlI[uint16], "b32": shlI[uint32], "b64": shlI[uint64]},
	"shr": {"b16": shrI[uint16, uint16], "b32": shrI[uint32, uint32], "b64": shrI[uint64, uint64],
		"u16": shrI[uint16, uint16], "u32": shrI[uint32, uint32], "u64": shrI[uint64, uint64],
		"s16": shrI[int16, uint16], "s32": shrI[int32, uint32], "s64": shrI[int64, uint64]},
	"popc": {"b32": popc32, "b64": lift1(func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) })},
	"clz": {"b32": lift1(func(a uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }),
		"b64": lift1(func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a)) })},
	"brev": {"b32": lift1(func(a uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }), "b64": lift1(bits.Reverse64)},
	"bfe":  {"u32": bfe(32, false), "s32": bfe(32, true), "u64": bfe(64, false), "s64": bfe(64, true)},
	"sad": {"u32": lift3(func(a, b, c uint64) uint64 {
		x, y := uint32(a), uint32(b)
		return uint64(uint32(c) + max(x, y) - min(x, y))
	}), "s32": lift3(func(a, b, c uint64) uint64 {
		x, y := int32(a), int32(b)
		return uint64(uint32(c) + uint32(max(x, y)-min(x, y)))
	})},
}

// buildInt builds what intOps has: n operands are read.
func buildInt(n int) func(s *stmt, in *instr) {
	return func(s *stmt, in *instr) {
		base := s.base
		if base == "mul" || base == "mad" {
			if m := s.mod("lo", "hi", "wide"); m != "" {
				base += "." + m
			}
		}
		if len(s.mods) > 0 && types[s.mods[0]].kind == 'p' {
			buildPredLogic(s, in)
			return
		}
		name := ""
		if len(s.mods) > 0 {
			name = s.mods[0]
		}
		t := s.typ()
		in.alu = intOps[base][name]
		if in.alu == nil {
			s.fail("instruction %s is not known", s.name)
			return
		}
		if !s.want(n+1, n+1) {
			return
		}
		out, third := t.bits, t.bits
		switch base {
		case "mul.wide", "mad.wide":
			out, third = 2*t.bits, 2*t.bits
		case "popc", "clz":
			out = 32
		}
		in.d = s.dst(0, out)
		rows := []*int32{&in.a, &in.b, &in.c}
		for i := range n {
			width := t.bits
			if i == 2 {
				width = third
			}
			if i > 0 && (base == "shl" || base == "shr" || base == "bfe") {
				width = 32
			}
			*rows[i] = s.src(i+1, width)
		}
	}
}

// buildBfi, buildBfind, buildShf, buildPrmt, buildLop3 and buildDot are the odd ones.
func buildBfi(s *stmt, in *instr) {
	t := s.typ()
	if !s.want(5, 5) || t.kind != 'b' || t.bits < 32 {
		s.fail("instruction %s is not known", s.name)
		return
	}
	in.d, in.a, in.b, in.c = s.dst(0, t.bits), s.src(1, t.bits), s.src(2, t.bits), s.src(3, 32)
	in.x = &extra{src: []int32{s.src(4, 32)}}
	in.run = func(w *warp, in *instr, m uint32) {
		n := w.rows[in.x.src[0]]
		w.each(m, in.d, func(l int) uint64 {
			return bfi(t.bits, w.rows[in.a][l], w.rows[in.b][l], int(w.rows[in.c][l]&255), int(n[l]&255))
		})
	}
}

func buildBfind(s *stmt, in *instr) {
	amount := s.has("shiftamt")
	t := s.typ()
	if !s.want(2, 2) {
		return
	}
	in.alu = bfind(t.bits, t.kind == 's', amount)
	in.d, in.a = s.dst(0, 32), s.src(1, t.bits)
}

func buildShf(s *stmt, in *instr) {
	dir, mode := s.mod("l", "r"), s.mod("wrap", "clamp")
	if s.typ() != (typ{'b', 32}) || dir == "" || mode == "" {
		s.fail("instruction %s is not known", s.name)
	}
	if s.want(4, 4) {
		in.alu = shiftFunnel(dir == "l", mode == "wrap")
		in.d, in.a, in.b, in.c = s.dst(0, 32), s.src(1, 32), s.src(2, 32), s.src(3, 32)
	}
}

func buildPrmt(s *stmt, in *instr) {
	if s.typ() != (typ{'b', 32}) {
		s.fail("instruction %s is not known", s.name)
	}
	if s.want(4, 4) {
		in.alu = prmt
		in.d, in.a, in.b, in.c = s.dst(0, 32), s.src(1, 32), s.src(2, 32), s.src(3, 32)
	}
}

func buildLop3(s *stmt, in *instr) {
	if s.typ() != (typ{'b', 32}) || !s.want(5, 5) || s.ops[4].kind != opImm {
		s.fail("instruction %s is not known", s.name)
		return
	}
	table, err := literal(s.ops[4].imm, 32)
	if err != nil || table > 255 {
		s.fail("table %s of lop3", s.ops[4].imm)
	}
	in.alu = lop3(table)
	in.d, in.a, in.b, in.c = s.dst(0, 32), s.src(1, 32), s.src(2, 32), s.src(3, 32)
}

func buildDot(s *stmt, in *instr) {
	high := false
	if s.base == "dp2a" {
		m := s.mod("lo", "hi")
		if m == "" {
			s.fail("instruction %s is not known", s.name)
		}
		high = m == "hi"
	}
	a, b := s.typ(), s.typ()
	if a.bits != 32 || b.bits != 32 || a.kind != 's' && a.kind != 'u' || b.kind != 's' && b.kind != 'u' {
		s.fail("instruction %s is not known", s.name)
	}
	if !s.want(4, 4) {
		return
	}
	if s.base == "dp4a" {
		in.alu = dp4a(a.kind == 's', b.kind == 's')
	} else {
		in.alu = dp2a(a.kind == 's', b.kind == 's', high)
	}
	in.d, in.a, in.b, in.c = s.dst(0, 32), s.src(1, 32), s.src(2, 32), s.src(3, 32)
}

// buildPredLogic is and, or, xor and not of predicates.
func buildPredLogic(s *stmt, in *instr) {
	s.typ()
	if s.base == "not" {
		if s.want(2, 2) {
			in.d = s.pdst(&s.ops[0])
			a, neg := s.psrc(1)
			in.run = func(w *warp, in *instr, m uint32) { w.setPred(in.d, m, ^w.pred(a, neg)) }
		}
		return
	}
	op := logic[s.base]
	if op == nil {
		s.fail("instruction %s is not known", s.name)
		return
	}
	if !s.want(3, 3) {
		return
	}
	in.d = s.pdst(&s.ops[0])
	a, na := s.psrc(1)
	b, nb := s.psrc(2)
	in.run = func(w *warp, in *instr, m uint32) { w.setPred(in.d, m, op(w.pred(a, na), w.pred(b, nb))) }
}

// logic combines predicates.
var logic = map[string]func(a, b uint32) uint32{
	"and": func(a, b uint32) uint32 { return a & b },
	"or":  func(a, b uint32) uint32 { return a | b },
	"xor": func(a, b uint32) uint32 { return a ^ b },
}
