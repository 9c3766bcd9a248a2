package tokenizer

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
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
	for from := 0; from < len(c.texts); {
		n := bytes.IndexByte(c.texts[from:], 0)
		if n > maxReplacement {
			return nil, badVocab("Charsmap", -1, "", "a replacement of %d bytes, at most %d are allowed", n, maxReplacement)
		}
		from += n + 1
	}
	return c, nil
}

// Real maps have keys of up to 30 bytes and replacements of up to 33; a longer key is
// none, so that a map's time and memory stay in proportion to the text.
const maxKey, maxReplacement = 64, 256

func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// longest returns the replacement of the longest key that s begins with, and the
// key's length; 0 for none. With first it is the shortest.
func (c *charsmap) longest(s string, first bool) (to []byte, n int) {
	if c == nil || len(c.units) == 0 {
		return nil, 0
	}
	at := unitOffset(c.units[0])
	for i := 0; i < min(len(s), maxKey) && s[i] != 0; i++ {
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
		if first {
			break
		}
	}
	return to, n
}

// apply replaces in all of text, longest keys first; a byte that is not UTF-8 becomes
// U+FFFD. Keys are as long as the file makes them, a few characters in practice.
func (c *charsmap) apply(text string) string {
	out := make([]byte, 0, len(text)+len(text)/4)
	for text != "" {
		to, n := c.longest(text, false)
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

// applyClusters is what the reference of tokenizer.json makes of the same map: a base
// with its marks that is shorter than maxCluster bytes becomes, whole, what the
// shortest key that it begins with becomes, which may lose marks; in others each
// character is looked up alone.
func (c *charsmap) applyClusters(text string) string {
	out := make([]byte, 0, len(text)+len(text)/4)
	for text != "" {
		n := cluster(text)
		if n < maxCluster {
			if to, key := c.longest(text[:n], true); key > 0 {
				out = append(out, to...)
				text = text[n:]
				continue
			}
		}
		for n > 0 {
			_, size := utf8.DecodeRuneInString(text)
			if to, key := c.longest(text[:size], true); key > 0 {
				out = append(out, to...)
			} else {
				out = append(out, text[:size]...)
			}
			text = text[size:]
			n -= size
		}
	}
	return string(out)
}

const maxCluster = 6

// cluster returns the length of the first grapheme cluster of s. It knows the rules
// that can join fewer than maxCluster bytes: a line's end, and marks after a base.
func cluster(s string) int {
	if strings.HasPrefix(s, "\r\n") {
		return 2
	}
	r, n := utf8.DecodeRuneInString(s)
	if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Cf, r) && !joins(r) {
		return n
	}
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !joins(r) {
			break
		}
		n += size
	}
	return n
}

// joins tells what continues a cluster.
func joins(r rune) bool {
	const joiner, thaiAM, laoAM = 0x200D, 0x0E33, 0x0EB3
	return r >= 0x300 && (unicode.In(r, unicode.M, unicode.Other_Grapheme_Extend) || r == joiner || r == thaiAM || r == laoAM)
}
