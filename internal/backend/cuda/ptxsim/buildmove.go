package ptxsim

// buildMov copies, packs {a, b} and unpacks.
func buildMov(s *stmt, in *instr) {
	t := s.typ()
	if !s.want(2, 2) {
		return
	}
	d, a := &s.ops[0], &s.ops[1]
	switch {
	case t.kind == 'p':
		in.d = s.pdst(d)
		if a.kind == opImm {
			v, err := literal(a.imm, 32)
			if err != nil {
				s.fail("%v", err)
			}
			in.run = func(w *warp, in *instr, m uint32) { w.setPred(in.d, m, -uint32(v&1)) }
			return
		}
		p, neg := s.psrc(1)
		in.run = func(w *warp, in *instr, m uint32) { w.setPred(in.d, m, w.pred(p, neg)) }
	case a.kind == opVec:
		part := t.bits / max(len(a.vec), 1)
		in.d = s.dst(0, t.bits)
		src := s.vec(1, len(a.vec), part, false)
		mask := typ{'b', max(part, 1)}.mask()
		in.run = func(w *warp, in *instr, m uint32) {
			w.each(m, in.d, func(l int) (v uint64) {
				for i, r := range src {
					v |= w.rows[r][l] & mask << (i * part)
				}
				return v
			})
		}
	case d.kind == opVec:
		part := t.bits / max(len(d.vec), 1)
		in.a = s.src(1, t.bits)
		dst := s.vec(0, len(d.vec), part, true)
		mask := typ{'b', max(part, 1)}.mask()
		in.run = func(w *warp, in *instr, m uint32) {
			from := w.rows[in.a]
			for i, r := range dst {
				w.each(m, r, func(l int) uint64 { return from[l] >> (i * part) & mask })
			}
		}
	default:
		in.alu = move
		in.d, in.a = s.dst(0, t.bits), s.src(1, t.bits)
	}
}

// buildCvta turns an address of a space into a generic one, or back.
func buildCvta(s *stmt, in *instr) {
	to := s.has("to")
	sp, ok := space(0), false
	if len(s.mods) > 0 {
		sp, ok = spaces[s.mods[0]]
	}
	if !ok || sp == paramSpace {
		s.fail("instruction %s is not known", s.name)
		return
	}
	s.mods = s.mods[1:]
	if t := s.typ(); t.bits != 64 {
		s.fail("instruction %s is not known", s.name)
	}
	if !s.want(2, 2) {
		return
	}
	in.d, in.a = s.dst(0, 64), s.src(1, 64)
	by := sp.window()
	if to {
		by = -by
	}
	in.alu = lift1(func(a uint64) uint64 { return a + by })
	if by == 0 {
		in.alu = move
	}
}

// buildCvt converts between types.
func buildCvt(s *stmt, in *instr) {
	rnd := s.mod("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna")
	relu := s.has("relu")
	flushed := s.has("ftz")
	sat := s.has("sat")
	if rnd == "rna" && s.has("tf32") {
		if s.typ() == (typ{'f', 32}) && s.want(2, 2) {
			in.alu, in.d, in.a = lift1(tf32), s.dst(0, 32), s.src(1, 32)
		}
		return
	}
	to, from := s.typ(), s.typ()
	if s.err != nil {
		return
	}
	if to.kind == 'h' || to.kind == 'j' { // two floats into halves: the first is the upper one
		elem := typ{'f', 16}
		if to.kind == 'j' {
			elem.kind = 'g'
		}
		narrow := narrowings[elem][rnd]
		if from != (typ{'f', 32}) || narrow == nil || rnd == "" || flushed || sat {
			s.fail("instruction %s is not known", s.name)
			return
		}
		if s.want(3, 3) {
			in.d, in.a, in.b = s.dst(0, 32), s.src(1, 32), s.src(2, 32)
			in.alu = lift2(func(a, b uint64) uint64 {
				return narrow(relued(relu, f32(a)))<<16 | narrow(relued(relu, f32(b)))
			})
		}
		return
	}
	if !s.want(2, 2) {
		return
	}
	in.d, in.a = s.dst(0, to.bits), s.src(1, from.bits)
	wide := ^uint64(0)
	if s.ops[0].kind == opReg {
		wide = s.ops[0].reg.typ.mask()
	}
	f := convert(to, from, rnd, sat, wide)
	if f == nil || relu && (from != (typ{'f', 32}) || to.bits != 16) || flushed && from.bits != 32 && to.bits != 32 {
		s.fail("instruction %s is not known", s.name)
		return
	}
	if relu {
		plain := f
		f = func(v uint64) uint64 { return plain(bits32(float32(relued(true, f32(v))))) }
	}
	in.alu = lift1(f)
	if fast := quickConversions[[2]typ{to, from}]; fast != nil && !sat && !relu && (wide == to.mask() || to.kind != 's') {
		in.alu = fast
	}
	if flushed {
		plain := in.alu
		in.alu = func(d, a, _, _ *row) {
			t := *a
			if from == (typ{'f', 32}) {
				flush(&t, a)
			}
			plain(d, &t, nil, nil)
			if to == (typ{'f', 32}) {
				flush(d, d)
			}
		}
	}
}

func relued(on bool, f float32) float64 {
	if on && f < 0 {
		return 0
	}
	return float64(f)
}

// quickConversions are the frequent ones again, without a call per lane. Rounding is
// to nearest in all that round.
var quickConversions = map[[2]typ]alu{
	{{'u', 64}, {'u', 32}}: move,
	{{'u', 32}, {'u', 64}}: func(d, a, _, _ *row) {
		for i := range d {
			d[i] = uint64(uint32(a[i]))
		}
	},
	{{'s', 64}, {'s', 32}}: func(d, a, _, _ *row) {
		for i := range d {
			d[i] = uint64(int64(int32(a[i])))
		}
	},
	{{'f', 32}, {'s', 32}}: func(d, a, _, _ *row) {
		for i := range d {
			d[i] = bits32(float32(int32(a[i])))
		}
	},
	{{'f', 32}, {'f', 16}}: func(d, a, _, _ *row) {
		for i := range d {
			d[i] = bits32(f16(a[i]))
		}
	},
}

// buildSelp chooses by a predicate.
func buildSelp(s *stmt, in *instr) {
	t := s.typ()
	if !s.want(4, 4) {
		return
	}
	in.d, in.a, in.b = s.dst(0, t.bits), s.src(1, t.bits), s.src(2, t.bits)
	p, neg := s.psrc(3)
	in.run = func(w *warp, in *instr, m uint32) {
		d, a, b := &w.rows[in.d], &w.rows[in.a], &w.rows[in.b]
		q := w.pred(p, neg)
		for i := range d {
			if m>>i&1 == 0 {
				continue
			}
			v := b[i]
			if q>>i&1 != 0 {
				v = a[i]
			}
			d[i] = v
		}
	}
}

// buildSlct chooses by the sign of the third operand.
func buildSlct(s *stmt, in *instr) {
	s.has("ftz")
	t, c := s.typ(), s.typ()
	if c != (typ{'s', 32}) && c != (typ{'f', 32}) {
		s.fail("instruction %s is not known", s.name)
	}
	if !s.want(4, 4) {
		return
	}
	in.d, in.a, in.b, in.c = s.dst(0, t.bits), s.src(1, t.bits), s.src(2, t.bits), s.src(3, 32)
	in.alu = lift3(func(a, b, v uint64) uint64 {
		if c.kind == 'f' && f32(v) >= 0 || c.kind == 's' && int32(v) >= 0 {
			return a
		}
		return b
	})
}

// buildSetp compares: setp.cmp[.bool][.ftz].type p[|q], a, b [, c].
func buildSetp(s *stmt, in *instr) {
	cmp, join, ok := s.comparison()
	t := s.lastType
	if !ok || !s.want(3, 4) {
		return
	}
	d := &s.ops[0]
	in.a, in.b = s.src(1, t.bits), s.src(2, t.bits)
	in.d = s.pdst(d)
	if join == nil && d.dual == nil {
		if s.want(3, 3) {
			in.cmp = cmp
		}
		return
	}
	second := int32(-1)
	if d.dual != nil {
		second = s.pdst(d.dual)
	}
	c, neg := int32(-1), false
	if join != nil {
		c, neg = s.psrc(3)
	}
	in.run = func(w *warp, in *instr, m uint32) {
		r := cmp(&w.rows[in.a], &w.rows[in.b])
		p, q := r, ^r
		if join != nil {
			with := w.pred(c, neg)
			p, q = join(r, with), join(^r, with)
		}
		w.setPred(in.d, m, p)
		if second >= 0 {
			w.setPred(second, m, q)
		}
	}
}

// comparison reads .cmp[.bool][.ftz].type.
func (s *stmt) comparison() (cmp func(a, b *row) uint32, join func(a, b uint32) uint32, ok bool) {
	if len(s.mods) == 0 {
		s.fail("instruction %s is not known", s.name)
		return nil, nil, false
	}
	op := s.mods[0]
	s.mods = s.mods[1:]
	if b := s.mod("and", "or", "xor"); b != "" {
		join = logic[b]
	}
	flushed := s.has("ftz")
	s.lastType = s.typ()
	cmp = compare(op, s.lastType, flushed)
	if cmp == nil {
		s.fail("instruction %s is not known", s.name)
	}
	return cmp, join, s.err == nil
}

// buildSet is set.cmp.dtype.stype: ones or zero, or 1.0 or 0.
func buildSet(s *stmt, in *instr) {
	if len(s.mods) < 3 {
		s.fail("instruction %s is not known", s.name)
		return
	}
	op := s.mods[0]
	s.mods = s.mods[1:]
	flushed := s.has("ftz")
	to, t := s.typ(), s.typ()
	cmp := compare(op, t, flushed)
	if cmp == nil || to.bits != 32 {
		s.fail("instruction %s is not known", s.name)
		return
	}
	if !s.want(3, 3) {
		return
	}
	yes := uint64(0xffffffff)
	if to.kind == 'f' {
		yes = bits32(1)
	}
	in.d, in.a, in.b = s.dst(0, 32), s.src(1, t.bits), s.src(2, t.bits)
	in.alu = func(d, a, b, _ *row) {
		m := cmp(a, b)
		for i := range d {
			d[i] = yes & -uint64(m>>i&1)
		}
	}
}
