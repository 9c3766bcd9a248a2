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

	marks   []mark // control tokens whose place in the text has not come
	in, out int    // bytes of tokens that came in, and that were let out
}

// mark is the text of a control token that is to be shown: stop strings don't see
// it, and it comes where the token stood.
type mark struct {
	at   int // bytes before it
	text string
}

// show takes a control token's text; push, which follows, gives it out.
func (x *textState) show(text string) { x.marks = append(x.marks, mark{x.in, text}) }

// push takes a token's bytes and returns what can be shown. last flushes what is
// held back.
func (x *textState) push(b []byte, last bool) string {
	x.seen++
	x.in += len(b)
	stop := -1
	if x.match != nil && x.seen > x.minTokens {
		b, stop = x.match.Push(b)
	}
	if len(x.marks) > 0 {
		return x.marked(b, last, stop)
	}
	x.out += len(b)
	text := string(x.utf8.Push(b))
	if !last {
		return text
	}
	if x.match != nil && stop < 0 {
		text += string(x.utf8.Push(x.match.Flush()))
	}
	return text + string(x.utf8.Flush())
}

// marked is push with control tokens in between. What stands behind a stop string
// goes with it.
func (x *textState) marked(b []byte, last bool, stop int) string {
	if last && x.match != nil && stop < 0 {
		b = append(b[:len(b):len(b)], x.match.Flush()...)
	}
	var text []byte
	for len(x.marks) > 0 && x.marks[0].at <= x.out+len(b) && (stop < 0 || x.marks[0].at < x.out+len(b)) {
		n := x.marks[0].at - x.out
		text = append(append(append(text, x.utf8.Push(b[:n])...), x.utf8.Flush()...), x.marks[0].text...)
		b, x.out, x.marks = b[n:], x.out+n, x.marks[1:]
	}
	text, x.out = append(text, x.utf8.Push(b)...), x.out+len(b)
	if last {
		text = append(text, x.utf8.Flush()...)
	}
	return string(text)
}
