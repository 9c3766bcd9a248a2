package toolcall

import (
	"bytes"
	"strings"
	"unicode"
)

// Piece is a part of an answer: one of the three is set.
type Piece struct {
	Content   string
	Reasoning string
	Call      *Call
}

// Parser tells the text of one answer apart, as it comes. Push what the model
// writes, in pieces of any size, then Flush once: the pieces that emit is given are
// the same, joined, however the text was cut. Not for concurrent use.
//
// No text is lost: what looks like a call and can't be read as one is content. Only
// the markers of what was read go, and white space next to them.
type Parser struct {
	o      Options
	emit   func(Piece)
	chunks *channels // in place of what follows

	state  state
	buf    []byte // what is not decided about yet
	seen   int    // of buf: what holds no end of the section, beyond what a marker may straddle
	quoted bool   // at seen: inside a JSON string
	opener string // what began the section
	space  string // white space that is content unless a marker follows
	start  bool   // nothing but white space and reasoning was there yet
	trim   bool   // a marker was just before: white space is none of the content
}

type state uint8

const (
	inContent state = iota
	inReasoning
	inCalls
)

// Options say what a Parser looks for. The zero value leaves everything content.
type Options struct {
	// Calls is the format of calls; nil: none are looked for.
	Calls *Format
	// Offer are the tools of the request.
	Offer *Offer
	// Think are the markers around reasoning; zero: none is looked for.
	Think Think
	// Split gives reasoning out as such; else it stays content, markers and all, and
	// is only not searched for calls.
	Split bool
	// Inside: the prompt has begun the reasoning.
	Inside bool
}

// NewParser returns a parser that hands its pieces to emit.
func NewParser(o Options, emit func(Piece)) *Parser {
	p := &Parser{o: o, emit: emit, start: true}
	if o.Calls != nil && o.Calls.channels {
		p.chunks = &channels{emit: emit, offer: o.Offer, split: o.Split}
	} else if o.Inside && o.Think.Close != "" {
		p.state, p.trim = inReasoning, true
	}
	return p
}

// Push takes the next text.
func (p *Parser) Push(text string) {
	if p.chunks != nil {
		p.chunks.push(text)
		return
	}
	p.buf = append(p.buf, text...)
	for p.step(false) {
	}
}

// Flush ends the text.
func (p *Parser) Flush() {
	if p.chunks != nil {
		p.chunks.flush()
		return
	}
	for p.step(true) {
	}
	if p.state == inReasoning && p.space != "" {
		p.emit(Piece{Reasoning: p.space})
	} else {
		p.give(p.space)
	}
	p.space = ""
}

// step decides about what begins buf, and reports whether it got on.
func (p *Parser) step(last bool) bool {
	switch p.state {
	case inReasoning:
		return p.think(last)
	case inCalls:
		return p.section(last)
	}
	if p.start {
		return p.begin(last)
	}
	return p.find(p.opens(), last)
}

// opens are the markers that count in the middle of content.
func (p *Parser) opens() []string {
	if p.o.Calls == nil {
		return nil
	}
	return p.o.Calls.opens
}

// begin looks at the very beginning, where reasoning and bare calls stand.
func (p *Parser) begin(last bool) bool {
	rest := bytes.TrimLeftFunc(p.buf, unicode.IsSpace)
	if open := p.o.Think.Open; open != "" {
		if behind, ok := bytes.CutPrefix(rest, []byte(open)); ok {
			if !p.o.Split { // it stays content, markers and all
				p.give(string(p.buf[:len(p.buf)-len(rest)]) + open)
			}
			p.buf, p.state, p.trim = behind, inReasoning, true
			return true
		}
		if !last && strings.HasPrefix(open, string(rest[:min(len(rest), len(open))])) && len(rest) < len(open) {
			return false
		}
	}
	if len(rest) == 0 {
		if last {
			p.start = false
		}
		return last
	}
	p.start = false
	if c := p.o.Calls; c != nil && c.bare && (rest[0] == '{' || rest[0] == '[') {
		p.space, p.buf = string(p.buf[:len(p.buf)-len(rest)]), rest
		p.enter("")
	}
	return true
}

func (p *Parser) enter(opener string) {
	p.state, p.opener, p.seen, p.quoted, p.start = inCalls, opener, 0, false, false
}

// find gives content out up to the first of the markers.
func (p *Parser) find(markers []string, last bool) bool {
	at, marker := -1, ""
	for _, m := range markers {
		if i := bytes.Index(p.buf, []byte(m)); i >= 0 && (at < 0 || i < at) {
			at, marker = i, m
		}
	}
	if at >= 0 {
		p.content(string(p.buf[:at]))
		p.buf = p.buf[at+len(marker):]
		p.enter(marker)
		return true
	}
	keep := 0
	if !last {
		for _, m := range markers {
			keep = max(keep, straddle(p.buf, m))
		}
	}
	p.content(string(p.buf[:len(p.buf)-keep]))
	p.buf = p.buf[len(p.buf)-keep:]
	return false
}

// straddle is the length of the longest end of s that marker may go on from.
func straddle(s []byte, marker string) int {
	for n := min(len(s), len(marker)-1); n > 0; n-- {
		if string(s[len(s)-n:]) == marker[:n] {
			return n
		}
	}
	return 0
}

// content gives text out, but for white space at its end, which may turn out to
// stand before a marker.
func (p *Parser) content(text string) {
	if p.trim {
		if text = strings.TrimLeftFunc(text, unicode.IsSpace); text == "" {
			return
		}
		p.trim = false
	}
	if p.o.Calls == nil { // no marker can follow
		p.give(text)
		return
	}
	body := strings.TrimRightFunc(text, unicode.IsSpace)
	if body == "" {
		p.space += text
		return
	}
	p.give(p.space + body)
	p.space = text[len(body):]
}

func (p *Parser) give(text string) {
	if text != "" {
		p.emit(Piece{Content: text})
	}
}

// think takes reasoning up to its end.
func (p *Parser) think(last bool) bool {
	closing := p.o.Think.Close
	at := bytes.Index(p.buf, []byte(closing))
	ended := at >= 0
	if !ended {
		at = len(p.buf)
		if !last {
			at -= straddle(p.buf, closing)
		}
	}
	body := string(p.buf[:at])
	p.buf = p.buf[at:]
	if p.o.Split {
		p.reason(body)
	} else {
		p.give(body)
	}
	if !ended {
		return false
	}
	p.buf = p.buf[len(closing):]
	if !p.o.Split {
		p.give(closing)
	}
	p.state, p.space, p.start, p.trim = inContent, "", true, p.o.Split
	p.o.Think.Open = "" // one block is reasoning, a second one is text
	return true
}

// reason gives reasoning out, but for white space at its ends.
func (p *Parser) reason(text string) {
	if p.trim {
		if text = strings.TrimLeftFunc(text, unicode.IsSpace); text == "" {
			return
		}
		p.trim = false
	}
	body := strings.TrimRightFunc(text, unicode.IsSpace)
	if body == "" {
		p.space += text
		return
	}
	p.emit(Piece{Reasoning: p.space + body})
	p.space = text[len(body):]
}

// section waits for the end of a section of calls and reads it.
func (p *Parser) section(last bool) bool {
	f := p.o.Calls
	end := p.end(f)
	if end < 0 && !last {
		return false
	}
	closing := f.close
	if end < 0 {
		end, closing = len(p.buf), ""
	}
	body := string(p.buf[:end])
	p.buf = p.buf[end+len(closing):]
	p.state = inContent
	calls, ok := f.read(body, p.o.Offer)
	if !ok {
		p.content(p.opener + body + closing)
		return true
	}
	p.space, p.trim = "", true
	for i := range calls {
		p.emit(Piece{Call: &calls[i]})
	}
	return true
}

// end is where the closing marker begins, -1 while it is not there. It goes on
// where the last look ended.
func (p *Parser) end(f *Format) int {
	if f.close == "" {
		return -1
	}
	if !f.json {
		at := bytes.Index(p.buf[p.seen:], []byte(f.close))
		if at >= 0 {
			return p.seen + at
		}
		p.seen = max(p.seen, len(p.buf)-len(f.close)+1)
		return -1
	}
	for i := p.seen; i < len(p.buf); i++ {
		switch c := p.buf[i]; {
		case p.quoted && c == '\\':
			if i+1 == len(p.buf) { // what it escapes is to come
				p.seen = i
				return -1
			}
			i++
		case c == '"':
			p.quoted = !p.quoted
		case p.quoted:
		case c == f.close[0]:
			n := min(len(p.buf)-i, len(f.close))
			if string(p.buf[i:i+n]) != f.close[:n] {
				continue
			}
			if n == len(f.close) {
				return i
			}
			p.seen = i // the rest of it may be to come
			return -1
		}
	}
	p.seen = len(p.buf)
	return -1
}
