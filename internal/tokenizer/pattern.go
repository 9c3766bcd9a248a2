package tokenizer

import (
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// pattern is a regular expression at work: leftmost matches, and of those the one that a
// backtracking matcher would find first, without its cost.
//
// A text is read twice. From the right, each position learns which of the program's
// instructions lead to a match from there; a lookahead is one more such fact, known
// before it is asked for. From the left, matches are read off: where there is a choice,
// the first alternative that is known to lead to a match is the right one, so nothing is
// ever taken back. Both readings are linear in the text; the first keeps one bit per
// instruction and character.
type pattern struct {
	prog  []instr
	order []int32 // prog's indices, each after those that it leads to without a character
	start int32
	words int // of 64 instructions
	sets  []runeSet
	pages [(unicode.MaxRune + 1) >> 8]atomic.Pointer[[256]uint64] // by rune: its sets; filled as they are met
}

// instr is a step of a program.
type instr struct {
	op   patternOp
	not  bool  // opAhead, opBehind, opEdge: must not hold
	set  uint8 // opSet, opBehind
	next int32
	alt  int32 // opSplit: the second choice; opAhead: where the looked-for part begins
}

type patternOp uint8

const (
	opMatch     patternOp = iota
	opSet                 // one character of a set
	opSplit               // next, or else alt
	opAhead               // a part that begins at alt matches here
	opBehind              // the character before is of a set
	opLineStart           // ^
	opLineEnd             // $
	opTextStart           // \A
	opTextEnd             // \z
	opLastEnd             // \Z
	opEdge                // \b
)

// maxInstrs bounds a program, and with it what a character costs.
const maxInstrs = 512

// span is a match: bytes of a text.
type span struct{ beg, end int }

// patternScratch is what one find works in.
type patternScratch struct {
	offs  []int32
	masks []uint64
	can   []uint64
	found []span
	marks []stretch
	cuts  [maxStages][]span // of the stages that look at a whole text
}

func (p *pattern) mask(r rune) uint64 {
	page := p.pages[r>>8].Load()
	if page == nil {
		page = new([256]uint64)
		for i := range page {
			for bit, set := range p.sets {
				if set(r&^255 | rune(i)) {
					page[i] |= 1 << bit
				}
			}
		}
		p.pages[r>>8].Store(page)
	}
	return page[r&255]
}

// find returns the matches in a text, from the left; an empty one right behind another
// is none. They are good until the next find with s.
func (p *pattern) find(text string, s *patternScratch) []span {
	s.offs, s.masks = s.offs[:0], s.masks[:0]
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		s.offs, s.masks = append(s.offs, int32(i)), append(s.masks, p.mask(r))
		i += n
	}
	s.offs = append(s.offs, int32(len(text)))
	n := len(s.masks)
	if need := (n + 1) * p.words; cap(s.can) < need {
		s.can = make([]uint64, need)
	} else {
		s.can = s.can[:need]
		clear(s.can)
	}
	for i := n; i >= 0; i-- {
		p.facts(s, text, i)
	}
	s.found = s.found[:0]
	for i, last := 0, -1; i <= n; {
		if !p.known(s, i, p.start) {
			i++
			continue
		}
		end := p.follow(s, i)
		if end > i || end != last {
			s.found = append(s.found, span{int(s.offs[i]), int(s.offs[end])})
			last = end
		}
		i = max(end, i+1)
		if end == i-1 && end != last {
			last = end
		}
	}
	return s.found
}

// replace puts to in place of each match.
func (p *pattern) replace(text, to string) string {
	found := p.find(text, new(patternScratch))
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m.beg])
		b.WriteString(to)
		at = m.end
	}
	b.WriteString(text[at:])
	return b.String()
}

func (p *pattern) known(s *patternScratch, i int, pc int32) bool {
	return s.can[i*p.words+int(pc>>6)]>>(pc&63)&1 != 0
}

// facts works out which instructions lead to a match from position i.
func (p *pattern) facts(s *patternScratch, text string, i int) {
	row := s.can[i*p.words : (i+1)*p.words]
	n := len(s.masks)
	for _, pc := range p.order {
		x := &p.prog[pc]
		ok := false
		switch x.op {
		case opMatch:
			ok = true
		case opSet:
			ok = i < n && s.masks[i]>>x.set&1 != 0 && p.known(s, i+1, x.next)
		case opSplit:
			ok = row[x.next>>6]>>(x.next&63)&1 != 0 || row[x.alt>>6]>>(x.alt&63)&1 != 0
		case opAhead:
			ok = (row[x.alt>>6]>>(x.alt&63)&1 != 0) != x.not && row[x.next>>6]>>(x.next&63)&1 != 0
		default:
			ok = row[x.next>>6]>>(x.next&63)&1 != 0 && p.holds(x, s, text, i)
		}
		if ok {
			row[pc>>6] |= 1 << (pc & 63)
		}
	}
}

// holds tells whether a condition on a position is met.
func (p *pattern) holds(x *instr, s *patternScratch, text string, i int) bool {
	n, at := len(s.masks), int(s.offs[i])
	switch x.op {
	case opBehind:
		return (i > 0 && s.masks[i-1]>>x.set&1 != 0) != x.not
	case opLineStart:
		return i == 0 || text[at-1] == '\n' && i < n
	case opLineEnd:
		return i == n || text[at] == '\n'
	case opTextStart:
		return i == 0
	case opTextEnd:
		return i == n
	case opLastEnd:
		return i == n || i == n-1 && text[at] == '\n'
	case opEdge:
		before := i > 0 && s.masks[i-1]>>x.set&1 != 0
		after := i < n && s.masks[i]>>x.set&1 != 0
		return (before != after) != x.not
	}
	return false
}

// follow reads off the match that begins at i, which has one, and returns its end.
func (p *pattern) follow(s *patternScratch, i int) int {
	for pc := p.start; ; {
		x := &p.prog[pc]
		switch x.op {
		case opMatch:
			return i
		case opSet:
			i++
			pc = x.next
		case opSplit:
			if pc = x.next; !p.known(s, i, pc) {
				pc = x.alt
			}
		default:
			pc = x.next
		}
	}
}
