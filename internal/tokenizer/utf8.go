package tokenizer

import "unicode/utf8"

// UTF8Stream turns a stream of bytes into valid UTF-8: a character that is not whole
// yet is held back, and bytes that can't become one are replaced by U+FFFD, one for
// each longest beginning of a character, as the Unicode standard recommends. The zero
// value is ready. One goroutine at a time.
type UTF8Stream struct {
	held [utf8.UTFMax]byte
	n    int
	out  []byte
}

// Push returns the text that b completes. It is valid until the next call, and at most
// three times as long as b, plus nine bytes.
func (u *UTF8Stream) Push(b []byte) []byte {
	u.out = u.out[:0]
	for u.n > 0 && len(b) > 0 {
		// Add bytes one by one: at most three are needed.
		u.held[u.n] = b[0]
		if size, whole := prefix(u.held[:u.n+1]); size == u.n+1 {
			b = b[1:]
			u.n++
			if whole {
				u.out = append(u.out, u.held[:u.n]...)
				u.n = 0
			}
			continue
		}
		u.out = append(u.out, "\uFFFD"...)
		u.n = 0
	}
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] < utf8.RuneSelf {
			i++
		}
		u.out = append(u.out, b[:i]...)
		if b = b[i:]; len(b) == 0 {
			break
		}
		size, whole := prefix(b)
		switch {
		case whole:
			u.out = append(u.out, b[:size]...)
		case size == len(b):
			u.n = copy(u.held[:], b)
		default:
			u.out = append(u.out, "\uFFFD"...)
		}
		b = b[max(size, 1):]
	}
	return u.out
}

// Flush ends the stream: what is still held becomes U+FFFD. Valid until the next call.
func (u *UTF8Stream) Flush() []byte {
	u.out = u.out[:0]
	if u.n > 0 {
		u.out = append(u.out, "\uFFFD"...)
		u.n = 0
	}
	return u.out
}

// Held returns how many bytes are held back, at most three.
func (u *UTF8Stream) Held() int { return u.n }

// prefix returns the length of the longest beginning of b, which is not empty, that is
// a character or could grow into one, and which of both it is; 0 if the first byte
// begins none.
func prefix(b []byte) (size int, whole bool) {
	c := b[0]
	lo, hi, want := byte(0x80), byte(0xBF), 0
	switch {
	case c < 0x80:
		return 1, true
	case c < 0xC2:
		return 0, false
	case c < 0xE0:
		want = 2
	case c < 0xF0:
		want = 3
		switch c {
		case 0xE0:
			lo = 0xA0 // below: overlong
		case 0xED:
			hi = 0x9F // above: surrogates
		}
	case c < 0xF5:
		want = 4
		switch c {
		case 0xF0:
			lo = 0x90 // below: overlong
		case 0xF4:
			hi = 0x8F // above: beyond U+10FFFF
		}
	default:
		return 0, false
	}
	for size = 1; size < want && size < len(b) && lo <= b[size] && b[size] <= hi; size++ {
		lo, hi = 0x80, 0xBF
	}
	return size, size == want
}
