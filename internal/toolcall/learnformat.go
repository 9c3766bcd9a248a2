package toolcall

import (
	"encoding/json"
	"strings"

	"github.com/paddock-go/paddock/internal/chat"
)

// format finds the row of the table that reads a call back from what the template
// made of it: the name and the arguments must be those that were given.
func (l learner) format(textArguments bool) *Format {
	const text = `{"` + probeKey + `": "` + probeValue + `"}`
	arguments := chat.Value(chat.NewMap(1).Set(probeKey, chat.String(probeValue)))
	if textArguments {
		arguments = chat.String(text)
	}
	tools, err := json.Marshal([]any{map[string]any{"function": map[string]any{
		"name": probeTool, "parameters": map[string]any{"properties": map[string]any{probeKey: map[string]any{"type": "string"}}},
	}}})
	if err != nil { // none of these can fail
		return nil
	}
	offer := NewOffer(tools)
	written := l.written(arguments)
	for _, f := range formats {
		for _, w := range written {
			if f.reads(w, offer, text) {
				return f
			}
		}
	}
	return nil
}

// reads tells whether the format finds exactly the probe's call in a text.
func (f *Format) reads(text string, offer *Offer, arguments string) bool {
	var calls []Call
	p := NewParser(Options{Calls: f, Offer: offer}, func(x Piece) {
		if x.Call != nil {
			calls = append(calls, *x.Call)
		}
	})
	p.Push(text)
	p.Flush()
	return len(calls) == 1 && calls[0].Name == probeTool && same(calls[0].Arguments, arguments)
}

// same compares two objects of one string.
func same(a, b string) bool {
	var x, y map[string]string
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && len(x) == 1 && x[probeKey] == y[probeKey]
}

// written is what the template writes of a turn that is one call, from where the
// model would have begun: as it stands, and without what ends the turn, which no
// format knows.
func (l learner) written(arguments chat.Value) []string {
	with := l.shows(false, ask(), call(arguments))
	if with == "" { // some want a call's result to follow
		with = l.shows(false, ask(), call(arguments), result(chat.String(probeOne)))
		with, _, _ = strings.Cut(with, probeOne)
	}
	without, opened := l.shows(false, ask()), l.shows(true, ask())
	at := common(with, without)
	if n := common(with[at:], strings.TrimPrefix(opened, without)); strings.HasPrefix(opened, without) {
		at += n
		if n < len(opened)-len(without) && !strings.HasPrefix(with[at-n:], opened[len(without):]) {
			at -= n // part of it alone may be the beginning of a marker
		}
	}
	body := with[at:]
	out := []string{body, with}
	for _, end := range []string{"}", "]"} {
		if i := strings.LastIndex(body, end); i >= 0 {
			out = append(out, body[:i+1])
		}
	}
	return out
}

// common is the length of the longest beginning of both.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
