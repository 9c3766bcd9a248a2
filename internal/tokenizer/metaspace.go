package tokenizer

import "strings"

// metaspace is the pre-tokenizer that turns spaces into U+2581, puts one before text
// and begins a word at each.
type metaspace struct {
	prefix string // "always", "first" (at the beginning of the whole text) or "never"
	split  bool
}

// words marks the spaces of text and hands out its words.
func (m *metaspace) words(text string, atStart bool, yield func(string)) {
	text = strings.ReplaceAll(text, " ", spaceMark)
	if (m.prefix == "always" || m.prefix == "first" && atStart) && !strings.HasPrefix(text, spaceMark) {
		text = spaceMark + text
	}
	for m.split && text != "" {
		end := strings.Index(text[1:], spaceMark) + 1
		if end == 0 {
			break
		}
		yield(text[:end])
		text = text[end:]
	}
	if text != "" {
		yield(text)
	}
}
