package ptxsim

// The race check of global memory. Each launch gives its blocks numbers that no
// earlier launch had, and each word of 4 bytes two marks: the block that wrote it
// last and the block that read it last.
//
//	writer's mark = number << 2 | atomic << 1 | mixed
//	reader's mark = number << 2 | part
//
// A mark of an earlier launch says nothing. Where blocks write single bytes of a word,
// its mark is mixed and the bytes have marks of their own. Of reads it is only kept
// that they were of a part of the word: a write of single bytes after such a read by
// another block passes for one of other bytes. (In the other order it is found, and
// the order is drawn.)
const (
	markMixed  = 1
	markAtomic = 2
	markPart   = 1
)

// marks are the numbers of a launch and of the block that runs.
type marks struct {
	past    uint32 // the greatest mark of earlier launches
	mine    uint32
	several uint32 // stands for more than one block
}

// shadows makes the marks of an allocation that a kernel touches for the first time.
func (a *alloc) shadows() {
	if a.wr == nil {
		n := (a.size + 3) / 4
		a.wr, a.rd = make([]uint32, n), make([]uint32, n)
	}
}

// bytesOf makes word i's marks mixed, and gives the marks of its 4 bytes.
func (k *marks) bytesOf(word *uint32, cells *[]uint32, words int, i uint64) []uint32 {
	if *cells == nil {
		*cells = make([]uint32, 4*words)
	}
	b := (*cells)[4*i : 4*i+4]
	if *word > k.past && *word&markMixed != 0 {
		return b
	}
	fill := *word
	if fill <= k.past {
		fill = 0
	}
	for j := range b {
		b[j] = fill
	}
	*word = k.mine | markMixed
	return b
}

// clash tells whether a mark is another block's, and not both it and this access are
// atomic.
func (k *marks) clash(c uint32, atomic bool) bool {
	return c > k.past && c&^markAtomic != k.mine && !(atomic && c&markAtomic != 0)
}

// slowRead is the general case of a read of n bytes at offset at: false if it races.
func (k *marks) slowRead(a *alloc, at, n uint64, atomic bool) bool {
	for end := at + n; at < end; {
		i := at / 4
		in := min(4-at%4, end-at)
		c := a.wr[i]
		if c > k.past && c&markMixed != 0 {
			for _, b := range a.wrB[at : at+in] {
				if k.clash(b, atomic) {
					return false
				}
			}
		} else if k.clash(c, atomic) {
			return false
		}
		if !atomic { // what is only accessed atomically has no readers to race with
			a.rd[i] = k.reader(a.rd[i], in < 4)
		}
		at += in
	}
	return true
}

// reader is the mark after a read, of a part of the word or of all of it.
func (k *marks) reader(r uint32, part bool) uint32 {
	mark := k.mine
	if part {
		mark |= markPart
	}
	switch {
	case r <= k.past:
		return mark
	case r|markPart == k.mine|markPart:
		return r & mark
	}
	return k.several | (r|mark)&markPart
}

// slowWrite is the general case of a write: false if it races.
func (k *marks) slowWrite(a *alloc, at, n uint64, atomic bool) bool {
	mark := k.mine
	if atomic {
		mark |= markAtomic
	}
	for end := at + n; at < end; {
		i := at / 4
		in := min(4-at%4, end-at)
		if r := a.rd[i]; r > k.past && r|markPart != k.mine|markPart && (r&markPart == 0 || in == 4) {
			return false
		}
		c := a.wr[i]
		if c > k.past && c&markMixed != 0 || in < 4 {
			b := k.bytesOf(&a.wr[i], &a.wrB, len(a.wr), i)
			for j := at % 4; j < at%4+in; j++ {
				if k.clash(b[j], atomic) {
					return false
				}
				b[j] = k.writer(b[j], mark)
			}
		} else {
			if k.clash(c, atomic) {
				return false
			}
			a.wr[i] = k.writer(c, mark)
		}
		at += in
	}
	return true
}

// writer is the mark after a write: atomics of several blocks belong to none.
func (k *marks) writer(c, mark uint32) uint32 {
	if c > k.past && c&^markAtomic != k.mine {
		return k.several | markAtomic
	}
	return mark
}
