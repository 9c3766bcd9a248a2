package tokenizer

import "slices"

// specials finds the tokens that are cut out of a text before anything else sees it.
//
// Which occurrences count is fixed by the reference: the longest token of all takes
// its occurrences first, from the left, then the next longest what is left. To do so
// without a pass over the text per token, an Aho-Corasick automaton of the *reversed*
// tokens reads the text from the end; at each position its state knows the longest
// token that begins there, and a token knows the next shorter one that begins it.
type specials struct {
	root    [256]int32       // state after one byte from the start state (0)
	edges   map[uint64]int32 // state<<8|byte → state, past the first byte
	fail    []int32          // longest proper suffix that is a state
	longest []int32          // index into toks of the longest token read last, or -1
	toks    []specialToken
	// leftmost: what begins first takes its occurrence first, then the longest of those,
	// as a tokenizer.json means it.
	leftmost bool
}

type specialToken struct {
	id      int32
	size    int32
	shorter int32 // index of the longest other token that this one begins with, or -1
	asPlain int32 // index of the longest plain token that this one is or begins with, or -1
	plain   bool  // matched also when special tokens are not parsed
	rstrip  bool  // swallows the white space after it
	lstrip  bool  // and before it; tokenizer.json only, as the next
	alone   bool  // counts only where no word character is beside it
}

// match is an occurrence of a token.
type match struct {
	pos int // where it begins
	tok int32
}

// add enters a token; build follows the last one.
func (sp *specials) add(text string, tok specialToken) {
	if sp.edges == nil {
		sp.edges = map[uint64]int32{}
		sp.fail, sp.longest = []int32{0}, []int32{none}
	}
	state := int32(0)
	for i := len(text) - 1; i >= 0; i-- {
		next := sp.step(state, text[i])
		if next == 0 {
			next = int32(len(sp.fail))
			sp.fail = append(sp.fail, 0)
			sp.longest = append(sp.longest, none)
			if state == 0 {
				sp.root[text[i]] = next
			} else {
				sp.edges[uint64(state)<<8|uint64(text[i])] = next
			}
		}
		state = next
	}
	tok.size, tok.shorter = int32(len(text)), none
	sp.longest[state] = int32(len(sp.toks))
	sp.toks = append(sp.toks, tok)
}

func (sp *specials) step(state int32, b byte) int32 {
	if state == 0 {
		return sp.root[b]
	}
	return sp.edges[uint64(state)<<8|uint64(b)]
}

// build links the states, in order of depth so that a state's links are whole before
// they are needed.
func (sp *specials) build() {
	type edge struct {
		from, to int32
		b        byte
	}
	byParent := make([]edge, 0, len(sp.edges))
	for k, to := range sp.edges {
		byParent = append(byParent, edge{int32(k >> 8), to, byte(k)})
	}
	slices.SortFunc(byParent, func(a, b edge) int { return int(a.from) - int(b.from) })
	var level []int32
	for _, s := range sp.root {
		if s != 0 {
			level = append(level, s)
		}
	}
	for len(level) > 0 {
		var deeper []int32
		for _, s := range level {
			f := sp.longest[sp.fail[s]]
			if own := sp.longest[s]; own == none {
				sp.longest[s] = f
			} else {
				tok := &sp.toks[own]
				tok.shorter, tok.asPlain = f, own
				if !tok.plain { // f is less deep, and so whole
					tok.asPlain = sp.allowed(f, false)
				}
			}
			i, _ := slices.BinarySearchFunc(byParent, s, func(e edge, s int32) int { return int(e.from) - int(s) })
			for ; i < len(byParent) && byParent[i].from == s; i++ {
				e := byParent[i]
				sp.fail[e.to] = sp.walk(sp.fail[s], e.b)
				deeper = append(deeper, e.to)
			}
		}
		level = deeper
	}
}

// walk follows b from a state, failing over to shorter ones.
func (sp *specials) walk(state int32, b byte) int32 {
	for {
		if next := sp.step(state, b); next != 0 || state == 0 {
			return next
		}
		state = sp.fail[state]
	}
}

// find appends the occurrences that count, in order; parse says whether tokens that
// are not plain do.
func (sp *specials) find(dst []match, text string, parse bool) []match {
	dst = dst[:0]
	if len(sp.toks) == 0 {
		return dst
	}
	state := int32(0)
	end, overlap := len(text)+1, false
	for i := len(text) - 1; i >= 0; i-- {
		if state == 0 {
			state = sp.root[text[i]]
		} else {
			state = sp.walk(state, text[i])
		}
		if k := sp.allowed(sp.longest[state], parse); k >= 0 {
			overlap = overlap || i+int(sp.toks[k].size) > end
			end = i
			dst = append(dst, match{i, k})
		}
	}
	slices.Reverse(dst)
	switch {
	case !overlap:
	case sp.leftmost:
		kept := dst[:0]
		end := 0
		for _, m := range dst {
			if m.pos >= end {
				kept = append(kept, m)
				end = m.pos + int(sp.toks[m.tok].size)
			}
		}
		dst = kept
	default:
		dst = sp.choose(dst, text, parse)
	}
	return dst
}

// allowed returns the first of k and its shorter beginnings that may match, or -1.
func (sp *specials) allowed(k int32, parse bool) int32 {
	if k < 0 || parse {
		return k
	}
	return sp.toks[k].asPlain
}

// choose drops from matches, in order of position, those that lose to another one.
func (sp *specials) choose(matches []match, text string, parse bool) []match {
	// Longest first, then leftmost: a heap, because a match that loses its end comes
	// back as a shorter one.
	before := func(a, b match) bool {
		if x, y := sp.toks[a.tok].size, sp.toks[b.tok].size; x != y {
			return x > y
		}
		return a.pos < b.pos
	}
	h := matches
	down := func(i int) {
		for {
			c := 2*i + 1
			if c >= len(h) {
				return
			}
			if c+1 < len(h) && before(h[c+1], h[c]) {
				c++
			}
			if before(h[i], h[c]) {
				return
			}
			h[i], h[c] = h[c], h[i]
			i = c
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(i)
	}
	taken := make([]uint64, len(text)/64+1)
	isTaken := func(i int) bool { return taken[i/64]>>(i%64)&1 != 0 }
	var chosen []match
	for len(h) > 0 {
		m := h[0]
		// What is taken is at least this long, so it can only overlap an end.
		k := m.tok
		for k >= 0 && !isTaken(m.pos) && isTaken(m.pos+int(sp.toks[k].size)-1) {
			k = sp.allowed(sp.toks[k].shorter, parse)
		}
		switch {
		case k < 0 || isTaken(m.pos):
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		case k != m.tok:
			h[0].tok = k
		default:
			for i := m.pos; i < m.pos+int(sp.toks[k].size); i++ {
				taken[i/64] |= 1 << (i % 64)
			}
			chosen = append(chosen, m)
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		down(0)
	}
	slices.SortFunc(chosen, func(a, b match) int { return a.pos - b.pos })
	return chosen
}
