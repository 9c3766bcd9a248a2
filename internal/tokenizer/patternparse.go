package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pnode is a part of a pattern.
type pnode struct {
	kind pkind
	list []pnode // pSeq, pAlt; one for the others
	op   patternOp
	not  bool
	set  uint8
	min  int
	max  int  // -1: no limit
	how  byte // '?' as few as possible, '+' never fewer once taken, 0 as many
}

type pkind uint8

const (
	pSeq   pkind = iota // all of list in order; nothing where it is empty
	pAlt                // one of list, in order of preference
	pSet                // a character
	pTimes              // list[0], min to max times
	pAhead              // list[0] matches here, or not
	pHold               // a condition op on a position
)

// patternParser reads the syntax of Oniguruma as tokenizer files use it; what would need
// more than one reading of a text in each direction is an error that names it.
type patternParser struct {
	src   string
	at    int
	depth int
	fold  bool
	sets  []runeSet
	byKey map[string]uint8
}

type patternError string

func (e patternError) Error() string { return string(e) }

func (p *patternParser) fail(format string, args ...any) {
	panic(patternError(fmt.Sprintf(format, args...)))
}

// maxDepth bounds the nesting of groups and sets.
const maxDepth = 32

func (p *patternParser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d levels", maxDepth)
	}
}

func (p *patternParser) more() bool       { return p.at < len(p.src) }
func (p *patternParser) is(s string) bool { return strings.HasPrefix(p.src[p.at:], s) }

func (p *patternParser) take(s string) bool {
	if p.is(s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *patternParser) rune() rune {
	if !p.more() {
		p.fail("it ends too early")
	}
	r, n := utf8.DecodeRuneInString(p.src[p.at:])
	p.at += n
	return r
}

// add enters a set, once for each spelling.
func (p *patternParser) add(key string, s runeSet) uint8 {
	if p.fold {
		key, s = "i"+key, folded(s)
	}
	if i, ok := p.byKey[key]; ok {
		return i
	}
	if len(p.sets) == 64 {
		p.fail("more than 64 sets of characters")
	}
	i := uint8(len(p.sets))
	p.sets, p.byKey[key] = append(p.sets, s), i
	return i
}

func (p *patternParser) alternatives() pnode {
	p.enter()
	fold := p.fold
	alt := pnode{kind: pAlt, list: []pnode{p.sequence()}}
	for p.take("|") {
		alt.list = append(alt.list, p.sequence())
	}
	p.fold = fold
	p.depth--
	if len(alt.list) == 1 {
		return alt.list[0]
	}
	return alt
}

func (p *patternParser) sequence() pnode {
	seq := pnode{kind: pSeq}
	before := rune(0) // the literal before, for what folds to one character together
	for p.more() && !p.is("|") && !p.is(")") {
		from := p.at
		n, literal := p.atom()
		if p.fold && literal != 0 {
			literal = unicode.ToLower(literal)
			switch string([]rune{before, literal}) {
			case "ss", "ff", "fi", "fl", "st":
				p.fail("letters that fold to one, as in %q, without regard to case", p.src[from-1:p.at])
			}
			if literal >= utf8.RuneSelf {
				p.fail("a letter outside ASCII without regard to case")
			}
		}
		before = literal
		seq.list = append(seq.list, p.repeats(n)...)
	}
	if len(seq.list) == 1 {
		return seq.list[0]
	}
	return seq
}

// repeats reads the quantifiers after a part.
func (p *patternParser) repeats(n pnode) []pnode {
	for p.more() {
		x := pnode{kind: pTimes, list: []pnode{n}, max: -1}
		braces := false
		switch {
		case p.take("*"):
		case p.take("+"):
			x.min = 1
		case p.take("?"):
			x.max = 1
		case p.is("{"):
			if braces = p.braces(&x); !braces {
				return []pnode{n}
			}
		default:
			return []pnode{n}
		}
		switch {
		case p.take("?"):
			if braces && x.min == x.max {
				p.fail("{n}? after a part")
			}
			x.how = '?'
		case p.is("+") && braces:
			p.fail("{n,m}+ after a part")
		case p.take("+"):
			x.how = '+'
			if n.kind != pSet {
				p.fail("a possessive quantifier of more than one character")
			}
		}
		if nullable(&n) {
			p.fail("a quantifier of what may be empty")
		}
		n = x
		if p.is("*") || p.is("+") || p.is("?") || p.is("{") {
			if x.how == 0 && !p.is("{") && x.min == 0 {
				p.fail("a quantifier of what may be empty")
			}
		}
	}
	return []pnode{n}
}

// braces reads {n}, {n,}, {,m} or {n,m}; else it reads nothing.
func (p *patternParser) braces(x *pnode) bool {
	at := p.at + 1
	number := func() (n int, ok bool) {
		for ; at < len(p.src) && '0' <= p.src[at] && p.src[at] <= '9'; at++ {
			n, ok = min(10*n+int(p.src[at]-'0'), maxInstrs+1), true // beyond that it is refused whatever it is
		}
		return n, ok
	}
	lo, given := number()
	hi := lo
	if at < len(p.src) && p.src[at] == ',' {
		at++
		n, ok := number()
		if hi = n; !ok {
			hi = -1
		}
		given = given || ok
	}
	if !given || at == len(p.src) || p.src[at] != '}' {
		return false
	}
	if x.min, x.max = lo, hi; lo > maxInstrs || hi > maxInstrs || hi >= 0 && hi < lo || hi == 0 {
		p.fail("a part %s times", shorten(p.src[p.at:at+1]))
	}
	p.at = at + 1
	return true
}

func nullable(n *pnode) bool {
	switch n.kind {
	case pSeq:
		for i := range n.list {
			if !nullable(&n.list[i]) {
				return false
			}
		}
		return true
	case pAlt:
		for i := range n.list {
			if nullable(&n.list[i]) {
				return true
			}
		}
		return false
	case pTimes:
		return n.min == 0 || nullable(&n.list[0])
	}
	return n.kind != pSet
}

// atom reads one part without its quantifier, and says which character it is alone.
func (p *patternParser) atom() (n pnode, literal rune) {
	from := p.at
	switch r := p.rune(); r {
	case '(':
		return p.group(), 0
	case '[':
		s := p.class()
		return pnode{kind: pSet, set: p.add(p.src[from:p.at], s)}, 0
	case '.':
		return pnode{kind: pSet, set: p.add(".", func(r rune) bool { return r != '\n' })}, 0
	case '^':
		return pnode{kind: pHold, op: opLineStart}, 0
	case '$':
		return pnode{kind: pHold, op: opLineEnd}, 0
	case '*', '+', '?':
		p.fail("a quantifier of nothing")
		return n, 0
	case '\\':
		if hold, ok := p.condition(); ok {
			return hold, 0
		}
		s, r := p.escape()
		if s == nil {
			return pnode{kind: pSet, set: p.add(string(r), between(r, r))}, r
		}
		return pnode{kind: pSet, set: p.add(p.src[from:p.at], s)}, 0
	default:
		return pnode{kind: pSet, set: p.add(string(r), between(r, r))}, r
	}
}

func (p *patternParser) condition() (n pnode, ok bool) {
	for _, c := range []struct {
		letter string
		op     patternOp
		not    bool
	}{{"b", opEdge, false}, {"B", opEdge, true}, {"A", opTextStart, false}, {"z", opTextEnd, false}, {"Z", opLastEnd, false}} {
		if p.take(c.letter) {
			n = pnode{kind: pHold, op: c.op, not: c.not}
			if c.op == opEdge {
				n.set = p.add(`\w`, isOnigWord)
			}
			return n, true
		}
	}
	return n, false
}

func (p *patternParser) group() pnode {
	n := pnode{kind: pAhead}
	switch {
	case !p.take("?"):
		return p.rest()
	case p.take(":"):
		return p.rest()
	case p.take("="):
	case p.take("!"):
		n.not = true
	case p.take("<="), p.is("<!"):
		n = pnode{kind: pHold, op: opBehind, not: p.take("<!")}
		part := p.rest()
		if part.kind != pSet {
			p.fail("a look behind for more than one character")
		}
		n.set = part.set
		return n
	case p.take("<"), p.take("P<"):
		end := strings.IndexByte(p.src[p.at:], '>')
		if end < 0 {
			p.fail("a group's name without an end")
		}
		p.at += end + 1
		return p.rest()
	case p.take("i)"), p.take("-i)"):
		// From here to the end of the group around it, of which this is one part.
		p.fold = p.src[p.at-3] != '-'
		return p.alternativesHere()
	case p.is("i:"), p.is("-i:"):
		fold := p.fold
		p.fold = !p.take("-")
		p.at += 2
		inner := p.rest()
		p.fold = fold
		return inner
	default:
		p.fail("a group that begins %q", "(?"+p.src[p.at:min(p.at+3, len(p.src))])
	}
	n.list = []pnode{p.rest()}
	return n
}

// alternativesHere reads what follows flags in a group: its alternatives belong to the
// part after them.
func (p *patternParser) alternativesHere() pnode {
	fold := p.fold
	p.enter()
	alt := pnode{kind: pAlt, list: []pnode{p.sequence()}}
	for p.take("|") {
		alt.list = append(alt.list, p.sequence())
	}
	p.depth--
	p.fold = fold
	return alt
}

func (p *patternParser) rest() pnode {
	n := p.alternatives()
	if !p.take(")") {
		p.fail("a group without an end")
	}
	return n
}
