package ptxsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// operandKind tells the operands apart.
type operandKind uint8

const (
	opReg  operandKind = iota + 1
	opPred             // a predicate register
	opImm
	opVar     // the address of a variable
	opAddr    // [base + off]
	opVec     // {a, b, ...}
	opLabel   // a name that is nothing else: a branch target
	opSpecial // %tid.x
	opSink    // _
)

// operand is one operand as written.
type operand struct {
	kind operandKind
	text string
	reg  *register
	neg  bool // !p
	imm  string
	off  int64
	v    *variable
	sp   special
	vec  []operand
	base *operand // of an address
	dual *operand // the second of p|q
}

// literal is the bits of a number of a type of that many bits; a decimal fraction is
// a float of that width.
func literal(t string, bits int) (uint64, error) {
	mask := ^uint64(0) >> (64 - bits)
	switch {
	case len(t) == 10 && (strings.HasPrefix(t, "0f") || strings.HasPrefix(t, "0F")):
		v, err := strconv.ParseUint(t[2:], 16, 32)
		if err == nil && bits == 64 {
			return math.Float64bits(float64(math.Float32frombits(uint32(v)))), nil
		}
		return v, err
	case len(t) == 18 && (strings.HasPrefix(t, "0d") || strings.HasPrefix(t, "0D")):
		v, err := strconv.ParseUint(t[2:], 16, 64)
		if err == nil && bits == 32 {
			return uint64(math.Float32bits(float32(math.Float64frombits(v)))), nil
		}
		return v, err
	case strings.Contains(t, ".") && !strings.HasPrefix(t, "0x"):
		v, err := strconv.ParseFloat(t, 64)
		if bits == 32 {
			return uint64(math.Float32bits(float32(v))), err
		}
		return math.Float64bits(v), err
	}
	t = strings.TrimSuffix(t, "U")
	if v, err := strconv.ParseUint(t, 0, 64); err == nil {
		return v & mask, nil
	}
	v, err := strconv.ParseInt(t, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", t)
	}
	return uint64(v) & mask, nil
}

// operand reads one operand.
func (f *fn) operand() (operand, error) {
	o, err := f.single()
	if err == nil && f.p.accept("|") {
		second, err := f.single()
		o.dual = &second
		return o, err
	}
	return o, err
}

func (f *fn) single() (operand, error) {
	p := f.p
	t := p.take()
	switch {
	case t == "!":
		o, err := f.single()
		if err == nil && o.kind != opPred {
			return o, p.fail("! before %s, which is no predicate", o.text)
		}
		o.neg = true
		return o, err
	case t == "_":
		return operand{kind: opSink, text: t}, nil
	case t == "{":
		o := operand{kind: opVec, text: "{...}"}
		for !p.accept("}") {
			e, err := f.operand()
			if err != nil {
				return o, err
			}
			o.vec = append(o.vec, e)
			if !p.accept(",") && p.peek() != "}" {
				return o, p.fail("%q in a vector", p.take())
			}
		}
		return o, nil
	case t == "[":
		base, err := f.single()
		if err != nil {
			return base, err
		}
		o := operand{kind: opAddr, text: "[" + base.text + "]", base: &base, off: base.off}
		return o, p.expect("]")
	case t == "-" || t != "" && t[0] >= '0' && t[0] <= '9':
		sign := ""
		if t == "-" {
			sign, t = "-", p.take()
		}
		return operand{kind: opImm, text: sign + t, imm: sign + t}, nil
	}
	o, err := f.named(t)
	if err != nil {
		return o, err
	}
	// name+8, name+-8
	if p.peek() == "+" || p.peek() == "-" && o.kind != opLabel {
		sign := int64(1)
		if p.take() == "-" {
			sign = -1
		}
		if p.accept("-") {
			sign = -sign
		}
		n := p.take()
		v, err := strconv.ParseInt(n, 0, 64)
		if err != nil {
			return o, p.fail("%q is no offset", n)
		}
		o.off = sign * v
	}
	return o, nil
}

func (f *fn) named(t string) (operand, error) {
	if s := f.lookup(t); s != nil {
		if s.v != nil {
			return operand{kind: opVar, text: t, v: s.v}, nil
		}
		if s.reg.typ.kind == 'p' {
			return operand{kind: opPred, text: t, reg: s.reg}, nil
		}
		return operand{kind: opReg, text: t, reg: s.reg}, nil
	}
	if v := f.p.vars[t]; v != nil {
		return operand{kind: opVar, text: t, v: v}, nil
	}
	if sp, ok := specials[t]; ok {
		return operand{kind: opSpecial, text: t, sp: sp}, nil
	}
	if t == "" || t[0] == '%' || !wordByte(t[0]) {
		return operand{}, f.p.fail("%q is not declared", t)
	}
	return operand{kind: opLabel, text: t}, nil
}
