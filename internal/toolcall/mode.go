package toolcall

import "encoding/json"

// Mode says what becomes of reasoning.
type Mode uint8

const (
	// ReasoningByFormat splits it off where the model's text would be unreadable
	// else, which is in harmony's channels, and leaves it in the content elsewhere.
	ReasoningByFormat Mode = iota
	// ReasoningKept leaves it in the content.
	ReasoningKept
	// ReasoningSplit splits it off.
	ReasoningSplit
)

// Parse says how answers of a model with these traits are told apart, for a request
// with these tools, nil for none. Without a need for it the options are zero. False:
// there are tools, and the template writes calls in a format that is not known.
func (t *Traits) Parse(tools json.RawMessage, m Mode) (Options, bool) {
	harmony := t.Calls != nil && t.Calls.channels
	o := Options{Split: m == ReasoningSplit || m == ReasoningByFormat && harmony}
	switch {
	case tools != nil && t.Calls == nil:
		return Options{}, false
	case tools != nil:
		o.Calls, o.Offer = t.Calls, NewOffer(tools)
	case !o.Split:
		return Options{}, true
	case harmony:
		o.Calls = t.Calls
	}
	if !harmony {
		if o.Think = t.Think; o.Think == (Think{}) && o.Split {
			o.Think = thinks[0]
		}
	}
	return o, true
}

// None tells whether everything is content, so that no Parser is needed.
func (o *Options) None() bool { return o.Calls == nil && o.Think.Close == "" }
