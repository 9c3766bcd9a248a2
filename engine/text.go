package engine

import (
	"strings"
	"unicode/utf8"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

// textState makes text of one choice's tokens, on the reader's goroutine:
//
//	ids ─▶ bytes ─▶ stop strings (hold back, cut) ─▶ whole characters ─▶ text
//
// The loop runs the same matcher over the same bytes to decide when a choice
// ends, so that both see the stop string at the same token.
type textState struct {
	match     *tokenizer.StopMatcher // nil: no stop strings
	minTokens int                    // tokens before which no stop string counts
	seen      int
	buf       []byte // shown by the matcher, not yet whole characters
}

// push takes a token's bytes and returns what can be shown. last flushes what is
// held back.
func (x *textState) push(b []byte, last bool) string {
	x.seen++
	switch {
	case x.match == nil || x.seen <= x.minTokens:
		x.buf = append(x.buf, b...)
	default:
		out, stop := x.match.Push(b)
		x.buf = append(x.buf, out...)
		if last && stop < 0 {
			x.buf = append(x.buf, x.match.Flush()...)
		}
	}
	n := len(x.buf)
	if !last {
		n = whole(x.buf)
	}
	text := validText(x.buf[:n])
	x.buf = x.buf[:copy(x.buf, x.buf[n:])]
	return text
}

// whole is the length of b without a character at its end that may go on.
func whole(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return i
		}
	}
	return len(b)
}

// validText is b with U+FFFD for what is no UTF-8.
func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
