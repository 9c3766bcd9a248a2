package toolcall

import (
	"bytes"
	"strings"
)

// channels tells apart the messages of the harmony format: a header that names a
// channel and perhaps a recipient, and a body.
//
//	<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…
type channels struct {
	emit   func(Piece)
	offer  *Offer
	split  bool
	header bool   // of what is in buf; else it is a body, or text before any header
	kind   kind   // of the body
	name   string // of the tool, where the body is a call's
	head   string // the header as it was written, to give it back
	buf    []byte
	seen   int // of buf: a call's body that holds no end
}

type kind uint8

const (
	isContent kind = iota
	isReasoning
	isCall
)

const (
	markStart   = "<|start|>"
	markChannel = "<|channel|>"
	markMessage = "<|message|>"
)

// bodyEnds end a body; the first two begin a header, the others end a message.
var bodyEnds = []string{markStart, markChannel, "<|end|>", "<|call|>", "<|return|>"}

func (c *channels) push(text string) {
	c.buf = append(c.buf, text...)
	for c.step(false) {
	}
}

func (c *channels) flush() {
	for c.step(true) {
	}
	if c.header { // it never became a message
		c.give(c.head+string(c.buf), isContent)
	} else if c.kind == isCall {
		c.call(string(c.buf))
	}
	c.buf = nil
}

func (c *channels) step(last bool) bool {
	if c.header {
		head, body, ok := bytes.Cut(c.buf, []byte(markMessage))
		if ok {
			c.open(string(head))
			c.buf = body
		}
		return ok
	}
	at, marker := bodyEnd(c.buf, c.seen)
	if at < 0 {
		if c.kind == isCall {
			c.seen = max(c.seen, len(c.buf)-len(markMessage)) // a call is read as a whole
			return false
		}
		keep := 0
		if !last {
			for _, m := range bodyEnds {
				keep = max(keep, straddle(c.buf, m))
			}
		}
		c.give(string(c.buf[:len(c.buf)-keep]), c.kind)
		c.buf = c.buf[len(c.buf)-keep:]
		return false
	}
	body := string(c.buf[:at])
	c.seen = 0
	c.buf = c.buf[at+len(marker):]
	if c.kind == isCall {
		c.call(body)
	} else {
		c.give(body, c.kind)
	}
	c.kind, c.header, c.head = isContent, marker == markStart || marker == markChannel, ""
	if c.header {
		c.head = marker
	}
	return true
}

// bodyEnd finds the first of bodyEnds from a byte on, -1 if there is none. It looks no
// further than that, so that many short bodies cost no more than a long one.
func bodyEnd(b []byte, from int) (at int, marker string) {
	for {
		i := bytes.Index(b[from:], []byte("<|")) // as all of them begin
		if i < 0 {
			return -1, ""
		}
		from += i
		for _, m := range bodyEnds {
			if bytes.HasPrefix(b[from:], []byte(m)) {
				return from, m
			}
		}
		from += len("<|")
	}
}

// open reads a header: "assistant<|channel|>commentary to=functions.f <|constrain|>json".
func (c *channels) open(header string) {
	c.header, c.kind, c.name = false, isContent, ""
	c.head += header + markMessage
	full := header
	if strings.HasPrefix(c.head, markChannel) {
		full = markChannel + header
	}
	_, channel, _ := strings.Cut(full, markChannel)
	if strings.HasPrefix(strings.TrimSpace(channel), "analysis") {
		c.kind = isReasoning
	}
	if _, to, ok := strings.Cut(full, "to=functions."); ok {
		if end := strings.IndexAny(to, " <\n"); end >= 0 {
			to = to[:end]
		}
		if to != "" && c.offer != nil {
			c.kind, c.name = isCall, to
		}
	}
}

// call gives a call out, or the text of what is none.
func (c *channels) call(body string) {
	if args, ok := object([]byte(strings.TrimSpace(body))); ok {
		c.emit(Piece{Call: &Call{c.name, args}})
		return
	}
	c.give(c.head+body, isContent)
}

func (c *channels) give(text string, k kind) {
	switch {
	case text == "":
	case k == isReasoning && c.split:
		c.emit(Piece{Reasoning: text})
	default:
		c.emit(Piece{Content: text})
	}
}
