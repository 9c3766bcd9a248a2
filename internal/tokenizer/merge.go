package tokenizer

import "slices"

// A symbol is a piece of a word during merging: first one character (or byte), then
// what merges made of it. Symbols of a word form a list in order of position.
type symbol struct {
	id         int32 // token, or -1 where this text has none
	beg, end   int32 // bytes of the word's text
	prev, next int32 // neighbours in the slice, -1 at the ends; next is gone once merged away
}

const (
	none = -1
	gone = -2
)

// A joiner knows which neighbours merge: their rank (lowest first; never noRank) and
// the token that results.
type joiner interface {
	join(text []byte, l, r *symbol) (rank uint32, id int32, ok bool)
}

const noRank = ^uint32(0)

// smallWord is the count of symbols up to which looking for the best pair by eye
// beats a heap; most words of most texts are below a third of it.
const smallWord = 24

// candidate is a possible merge. The key orders by rank, then by position, which is
// the order that both kinds of vocabulary are defined by.
type candidate struct {
	key uint64 // rank<<32 | left symbol
	end int32  // symbol after the pair when it was found
	id  int32
}

// merger merges one word at a time; it is scratch, owned by one Encode.
type merger struct {
	text     []byte   // what the symbols' offsets refer to
	syms     []symbol // the word; after merge, what is left of it, in order
	heap     []candidate
	small    [smallWord]candidate
	cells    []cell // of the unigram model, which merges nothing
	patterns [2]patternScratch
	steps    int // merges done and candidates looked at, for the tests of linear time
}

// reset begins a word of at most n symbols: a huge one gets its memory at once.
func (m *merger) reset(n int) {
	m.text, m.syms = m.text[:0], slices.Grow(m.syms[:0], n)
}

// add appends a symbol of the n bytes of text that follow the last one's.
func (m *merger) add(id int32, n int) {
	i := int32(len(m.syms))
	beg := int32(0)
	if i > 0 {
		beg = m.syms[i-1].end
	}
	m.syms = append(m.syms, symbol{id: id, beg: beg, end: beg + int32(n), prev: i - 1, next: i + 1})
}

// spell appends the tokens of the word, and the byte tokens of what has none.
func (m *merger) spell(dst []int32, bytes *[256]int32) []int32 {
	for i := range m.syms {
		s := &m.syms[i]
		if s.id >= 0 {
			dst = append(dst, s.id)
			continue
		}
		for _, b := range m.text[s.beg:s.end] {
			dst = append(dst, bytes[b])
		}
	}
	return dst
}

// merge applies merges until none is left.
func (m *merger) merge(j joiner) {
	switch n := len(m.syms); {
	case n < 2:
	case n <= smallWord:
		m.scan(j)
	default:
		m.syms[n-1].next = none
		m.queue(j)
	}
}

// scan finds the best pair by looking at all, keeping the symbols packed.
func (m *merger) scan(j joiner) {
	syms, cand := m.syms, m.small[:]
	find := func(i int) {
		cand[i].key = uint64(noRank) << 32
		if rank, id, ok := j.join(m.text, &syms[i], &syms[i+1]); ok {
			cand[i] = candidate{key: uint64(rank) << 32, id: id}
		}
	}
	for i := range len(syms) - 1 {
		find(i)
	}
	for len(syms) > 1 {
		m.steps += len(syms)
		best := 0
		for i := 1; i < len(syms)-1; i++ {
			if cand[i].key < cand[best].key {
				best = i
			}
		}
		if cand[best].key == uint64(noRank)<<32 {
			break
		}
		syms[best].id, syms[best].end = cand[best].id, syms[best+1].end
		copy(cand[best:len(syms)-2], cand[best+1:])
		copy(syms[best+1:], syms[best+2:])
		syms = syms[:len(syms)-1]
		if best > 0 {
			find(best - 1)
		}
		if best < len(syms)-1 {
			find(best)
		}
	}
	m.syms = syms
}

// queue finds the best pair with a heap; stale candidates are skipped when they come up.
func (m *merger) queue(j joiner) {
	m.heap = slices.Grow(m.heap[:0], len(m.syms))
	for i := range len(m.syms) - 1 {
		m.consider(j, int32(i), int32(i+1))
	}
	for i := len(m.heap) / heapWidth; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		m.steps++
		c := m.heap[0]
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
		m.down(0)

		l := int32(uint32(c.key))
		left := &m.syms[l]
		if left.next < 0 {
			continue
		}
		// A pair that ends where it did is the pair that was found: had the left one
		// grown, its pair would reach further, and so would the right one's.
		right := &m.syms[left.next]
		if right.next != c.end {
			continue
		}
		left.id, left.end, left.next = c.id, right.end, right.next
		right.next = gone
		if left.next >= 0 {
			m.syms[left.next].prev = l
			m.push(j, l, left.next)
		}
		if left.prev >= 0 {
			m.push(j, left.prev, l)
		}
	}
	// Pack what is left; it never moves right.
	n := 0
	for i := int32(0); i >= 0; n++ {
		s := m.syms[i]
		m.syms[n] = s
		i = s.next
	}
	m.syms = m.syms[:n]
}

func (m *merger) consider(j joiner, l, r int32) bool {
	rank, id, ok := j.join(m.text, &m.syms[l], &m.syms[r])
	if ok {
		m.heap = append(m.heap, candidate{uint64(rank)<<32 | uint64(uint32(l)), m.syms[r].next, id})
	}
	return ok
}

func (m *merger) push(j joiner, l, r int32) {
	if !m.consider(j, l, r) {
		return
	}
	h := m.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / heapWidth
		if h[up].key <= h[i].key {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// heapWidth is the count of children in the heap: four candidates are one cache line,
// and the heap is half as deep as with two.
const heapWidth = 4

func (m *merger) down(i int) {
	h := m.heap
	if i >= len(h) {
		return
	}
	c := h[i]
	for {
		first := heapWidth*i + 1
		if first >= len(h) {
			break
		}
		best := first
		for k := first + 1; k < min(first+heapWidth, len(h)); k++ {
			if h[k].key < h[best].key {
				best = k
			}
		}
		if c.key <= h[best].key {
			break
		}
		h[i] = h[best]
		i = best
	}
	h[i] = c
}
