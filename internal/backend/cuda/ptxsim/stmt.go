package ptxsim

import (
	"fmt"
	"slices"
)

// stmt is an instruction as written, while its builder turns it into an instr. The
// first error stays; builders need not look before they are done.
type stmt struct {
	f        *fn
	name     string
	base     string
	mods     []string // what no builder has taken yet
	ops      []operand
	guard    int32
	negated  bool
	line     int
	flow     flow
	reads    []int32 // registers by index
	writes   []int32
	err      error
	lastType typ // of a comparison
}

func (s *stmt) fail(format string, args ...any) {
	if s.err == nil {
		s.err = &ParseError{Line: s.line, Text: s.name, What: fmt.Sprintf(format, args...)}
	}
}

// mod takes a modifier if it is the next of the list.
func (s *stmt) mod(names ...string) string {
	if len(s.mods) > 0 && slices.Contains(names, s.mods[0]) {
		m := s.mods[0]
		s.mods = s.mods[1:]
		return m
	}
	return ""
}

// has takes one modifier if it is next.
func (s *stmt) has(name string) bool { return s.mod(name) != "" }

// typ takes the type that must be next.
func (s *stmt) typ() typ {
	if len(s.mods) > 0 {
		if t, ok := types[s.mods[0]]; ok {
			s.mods = s.mods[1:]
			return t
		}
	}
	s.fail("instruction %s is not known: no type where one belongs", s.name)
	return typ{'u', 32}
}

// at is the statement's place in the function while it is built.
func (s *stmt) at() int {
	if s.f.dry {
		return len(s.f.stmts)
	}
	return len(s.f.k.code)
}

// want holds the number of operands.
func (s *stmt) want(least, most int) bool {
	if n := len(s.ops); n < least || n > most {
		s.fail("%d operands, must be %d to %d", n, least, most)
		return false
	}
	return s.err == nil
}

// src is the row of operand i, read as a value of that many bits.
func (s *stmt) src(i, bits int) int32 {
	if s.err != nil || i >= len(s.ops) {
		s.fail("operand %d is missing", i+1)
		return 0
	}
	return s.value(&s.ops[i], bits)
}

func (s *stmt) value(o *operand, bits int) int32 {
	switch o.kind {
	case opReg:
		if o.reg.typ.bits < bits && !(bits == 64 && o.reg.typ.bits == 32 && s.base == "ld") {
			s.fail("register %s of %d bits where %d are read", o.text, o.reg.typ.bits, bits)
		}
		return s.f.row(s, o.reg, false)
	case opImm:
		v, err := literal(o.imm, bits)
		if err != nil {
			s.fail("%v", err)
		}
		return s.f.constant(nil, v)
	case opVar:
		return s.f.constant(o.v, uint64(o.off))
	case opSpecial:
		if s.f.dry {
			return 0
		}
		at, ok := s.f.specials[o.sp]
		if !ok {
			at = int32(s.f.k.rows)
			s.f.k.rows++
			s.f.specials[o.sp] = at
			s.f.k.regs = append(s.f.k.regs, specialRow{at, o.sp})
		}
		return at
	}
	s.fail("operand %s is no value", o.text)
	return 0
}

// dst is the row of operand i, written with that many bits.
func (s *stmt) dst(i, bits int) int32 {
	if s.err != nil || i >= len(s.ops) {
		s.fail("operand %d is missing", i+1)
		return 0
	}
	return s.result(&s.ops[i], bits)
}

func (s *stmt) result(o *operand, bits int) int32 {
	if o.kind == opSink {
		return s.sink()
	}
	if o.kind != opReg {
		s.fail("operand %s is no register", o.text)
		return 0
	}
	if o.reg.typ.bits < bits {
		s.fail("register %s of %d bits for a result of %d", o.text, o.reg.typ.bits, bits)
	}
	return s.f.row(s, o.reg, true)
}

// sink is a row that takes what nobody reads.
func (s *stmt) sink() int32 {
	sym := s.f.scopes[0]["_"]
	if sym == nil {
		sym = s.f.declare(0, "_", typ{'b', 64})
	}
	return s.f.row(s, sym.reg, true)
}

// pdst and psrc are predicates that are written and read.
func (s *stmt) pdst(o *operand) int32 {
	if o.kind == opSink {
		sym := s.f.scopes[0]["_p"]
		if sym == nil {
			sym = s.f.declare(0, "_p", typ{'p', 1})
		}
		return s.f.pred(&operand{reg: sym.reg}, true)
	}
	if o.kind != opPred || o.neg {
		s.fail("operand %s is no predicate to write", o.text)
		return 0
	}
	return s.f.pred(o, true)
}

func (s *stmt) psrc(i int) (int32, bool) {
	if i >= len(s.ops) || s.ops[i].kind != opPred {
		s.fail("operand %d must be a predicate", i+1)
		return 0, false
	}
	return s.f.pred(&s.ops[i], false), s.ops[i].neg
}

// vec are the rows of operand i, a vector of n, or one register.
func (s *stmt) vec(i, n, bits int, write bool) []int32 {
	if i >= len(s.ops) {
		s.fail("operand %d is missing", i+1)
		return nil
	}
	o := &s.ops[i]
	list := []operand{*o}
	if o.kind == opVec {
		list = o.vec
	}
	if len(list) != n {
		s.fail("operand %d has %d registers, must have %d", i+1, len(list), n)
		return nil
	}
	var out []int32
	for j := range list {
		if write {
			out = append(out, s.result(&list[j], bits))
		} else {
			out = append(out, s.value(&list[j], bits))
		}
	}
	return out
}
