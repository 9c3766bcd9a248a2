package ptxsim

// addr reads operand i, an address, into in.
func (s *stmt) addr(i int, in *instr, x *extra, sp space) {
	if i >= len(s.ops) || s.ops[i].kind != opAddr {
		s.fail("operand %d must be an address", i+1)
		return
	}
	o := s.ops[i]
	x.space = sp
	x.wide = ^uint64(0)
	in.off = uint64(o.off)
	base := *o.base
	base.off = 0
	switch base.kind {
	case opReg:
		if base.reg.typ.bits == 32 {
			if sp == generic || sp == globalSpace {
				s.fail("a %s address in register %s of 32 bits", sp, base.text)
			}
			x.wide = 0xffffffff
		}
		in.a = s.value(&base, base.reg.typ.bits)
	case opVar:
		if sp != base.v.space && !(sp == generic && base.v.space == globalSpace) {
			s.fail("variable %s of %s memory in an access to %s memory", base.text, base.v.space, sp)
		}
		in.a = s.value(&base, 64)
	case opImm:
		in.a = s.value(&base, 64)
	default:
		s.fail("operand %s is no address", o.text)
	}
}

// access reads the modifiers that ld and st share, up to the type.
func (s *stmt) access(x *extra) (sp space, t typ) {
	switch s.mod("weak", "volatile", "relaxed", "acquire", "release") {
	case "volatile":
		x.memory |= atomicAccess
	case "relaxed", "acquire", "release":
		x.memory |= atomicAccess
		if s.mod("cta", "gpu", "sys") == "" {
			s.fail("instruction %s is not known: no scope", s.name)
		}
	}
	if m := s.mod("global", "shared", "local", "const", "param"); m != "" {
		sp = spaces[m]
	}
	s.mod("ca", "cg", "cs", "lu", "cv", "wb", "wt")
	if s.has("nc") {
		x.constant = true
		if sp != globalSpace || s.base != "ld" {
			s.fail("instruction %s is not known", s.name)
		}
	}
	s.mod("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
	s.mod("L2::64B", "L2::128B", "L2::256B")
	x.count = 1
	switch s.mod("v2", "v4") {
	case "v2":
		x.count = 2
	case "v4":
		x.count = 4
	}
	t = s.typ()
	x.size = t.bits / 8
	if t.kind == 'p' || x.size*x.count > 16 {
		s.fail("instruction %s is not known", s.name)
		x.size = 1
	}
	return sp, t
}

func buildLd(s *stmt, in *instr) {
	x := &extra{}
	sp, t := s.access(x)
	if !s.want(2, 2) {
		return
	}
	x.signed = t.kind == 's'
	x.keep = ^uint64(0)
	if o := s.ops[0]; x.signed && o.kind == opReg {
		x.keep = o.reg.typ.mask()
	}
	x.dst = s.vec(0, x.count, t.bits, true)
	s.addr(1, in, x, sp)
	in.x, in.run = x, runLoad
	if quick := quickLoads[sp]; quick != nil && x.memory == 0 {
		in.run = quick
	}
	if sp == paramSpace && s.ops[1].base.kind == opVar {
		in.run = runParam
	}
}

// runParam reads a parameter at a fixed place: the same for all lanes.
func runParam(w *warp, in *instr, m uint32) {
	x := in.x
	n := uint64(x.size * x.count)
	b := w.bytesAt(paramSpace, 0, w.address(in, 0), n, access{})
	shift := 64 - 8*x.size
	for j, d := range x.dst {
		v := loadBytes(b[j*x.size:], x.size)
		if x.signed {
			v = uint64(int64(v<<shift)>>shift) & x.keep
		}
		out := &w.rows[d]
		for i := range out {
			if m>>i&1 != 0 {
				out[i] = v
			}
		}
	}
}

func buildSt(s *stmt, in *instr) {
	x := &extra{}
	sp, t := s.access(x)
	if sp == constSpace || sp == paramSpace {
		s.fail("instruction %s is not known: that memory is not written", s.name)
	}
	if !s.want(2, 2) {
		return
	}
	s.addr(0, in, x, sp)
	x.src = s.vec(1, x.count, t.bits, false)
	in.x, in.run = x, runStore
	if quick := quickStores[sp]; quick != nil && x.memory == 0 {
		in.run = quick
	}
}

// buildPrefetch is a hint: the address is not even looked at.
func buildPrefetch(s *stmt, in *instr) {
	s.mod("global", "local")
	s.mod("L1", "L2", "L2::evict_last", "L2::evict_normal")
	in.run = func(*warp, *instr, uint32) {}
}

// quickLoads and quickStores are for the spaces that have a faster way.
var (
	quickLoads  = map[space]func(w *warp, in *instr, m uint32){globalSpace: runLoadGlobal, sharedSpace: runLoadShared}
	quickStores = map[space]func(w *warp, in *instr, m uint32){globalSpace: runStoreGlobal, sharedSpace: runStoreShared}
)
