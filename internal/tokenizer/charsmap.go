package tokenizer

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// charsmap is a set of replacements as SentencePiece compiles it into a file:
//
//	size of the units (4 bytes) │ units of a double array (4 each) │ replacements, each ended by a zero byte
//
// The double array is a trie over bytes. A unit packs, from the top: the offset to
// its children (22 bits, scaled by 256 if bit 9 is set), bit 8 for "a key ends here",
// and the byte that leads to it. A child lies where the parent's offset, XORed with
// the byte, says; a key's value where the offset itself says.
type charsmap struct {
	units []uint32
	texts []byte
}

// newCharsmap checks the parts' sizes; offsets within are checked as they are met.
func newCharsmap(b []byte) (*charsmap, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) < 4 {
		return nil, badVocab("Charsmap", -1, "", "%d bytes, must be at least 4", len(b))
	}
	size := binary.LittleEndian.Uint32(b)
	if size%4 != 0 || uint64(size) > uint64(len(b)-4) {
		return nil, badVocab("Charsmap", -1, "", "a trie of %d bytes, must be a multiple of 4 and at most %d", size, len(b)-4)
	}
	c := &charsmap{units: make([]uint32, size/4), texts: bytes.Clone(b[4+size:])}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(b[4+4*i:])
	}
	if n := len(c.texts); n > 0 && c.texts[n-1] != 0 {
		return nil, badVocab("Charsmap", -1, "", "the last replacement has no end")
	}
	return c, nil
}

func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// longest returns the replacement of the longest key that s begins with, and the
// key's length; 0 for none.
func (c *charsmap) longest(s string) (to []byte, n int) {
	if c == nil || len(c.units) == 0 {
		return nil, 0
	}
	at := unitOffset(c.units[0])
	for i := 0; i < len(s) && s[i] != 0; i++ {
		at ^= uint32(s[i])
		if uint64(at) >= uint64(len(c.units)) {
			break
		}
		u := c.units[at]
		if u&(1<<31|0xFF) != uint32(s[i]) {
			break
		}
		at ^= unitOffset(u)
		if u>>8&1 == 0 {
			continue
		}
		if uint64(at) >= uint64(len(c.units)) {
			break
		}
		v := c.units[at] &^ (1 << 31)
		if uint64(v) >= uint64(len(c.texts)) {
			break
		}
		text := c.texts[v:]
		to, n = text[:bytes.IndexByte(text, 0)], i+1
	}
	return to, n
}

// apply replaces in all of text, longest keys first; a byte that is not UTF-8 becomes
// U+FFFD. Keys are as long as the file makes them, a few characters in practice.
func (c *charsmap) apply(text string) string {
	out := make([]byte, 0, len(text)+len(text)/4)
	for text != "" {
		to, n := c.longest(text)
		if n == 0 {
			r, size := utf8.DecodeRuneInString(text)
			out = utf8.AppendRune(out, r)
			text = text[size:]
			continue
		}
		out = append(out, to...)
		text = text[n:]
	}
	return string(out)
}
