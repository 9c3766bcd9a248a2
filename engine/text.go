package engine

import "github.com/paddock-go/paddock/internal/tokenizer"

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
	utf8      tokenizer.UTF8Stream
}

// push takes a token's bytes and returns what can be shown. last flushes what is
// held back.
func (x *textState) push(b []byte, last bool) string {
	x.seen++
	stop := -1
	if x.match != nil && x.seen > x.minTokens {
		b, stop = x.match.Push(b)
	}
	text := string(x.utf8.Push(b))
	if !last {
		return text
	}
	if x.match != nil && stop < 0 {
		text += string(x.utf8.Push(x.match.Flush()))
	}
	return text + string(x.utf8.Flush())
}
