package tokenizer

import (
	"iter"
	"strings"
)

// metaspace is the pre-tokenizer that turns spaces into U+2581, puts one before text
// and begins a word at each.
type metaspace struct {
	prefix string // "always", "first" (at the beginning of the whole text) or "never"
	split  bool
	white  bool // white space was cut out before: each word between begins anew
}

// wordsOf reads the pre-tokenizers of a vocabulary that isn't byte-level: none, or
// Metaspace, which WhitespaceSplit may go before. Others that only cut are returned
// as scanners.
func wordsOf(steps []Step) (*metaspace, []scanner, error) {
	var m *metaspace
	for i, s := range steps {
		switch {
		case s.Type == "WhitespaceSplit" && i == 0 && len(steps) == 2 && steps[1].Type == "Metaspace":
			m = &metaspace{white: true}
		case s.Type == "Metaspace" && i == len(steps)-1 && (i == 0 || m != nil):
			if s.Content != spaceMark {
				return nil, nil, unsupported("Rules.Split", s.Content, "Metaspace with a character other than U+2581")
			}
			if m == nil {
				m = new(metaspace)
			}
			m.prefix, m.split = s.Prefix, s.Flag
		default:
			stages, err := splitters(steps)
			return nil, stages, err
		}
	}
	return m, nil, nil
}

// cut hands out the words of a text; atStart says that the whole text begins with it.
func (m *metaspace) cut(text string, atStart bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !m.white {
			m.words(text, atStart, yield)
			return
		}
		for i := 0; text != ""; i++ {
			rest := strings.TrimLeftFunc(text, isSpace)
			atStart = atStart && len(rest) == len(text)
			end := strings.IndexFunc(rest, isSpace)
			if end < 0 {
				end = len(rest)
			}
			if end > 0 && !m.words(rest[:end], atStart && i == 0, yield) {
				return
			}
			text = rest[end:]
		}
	}
}

// words marks the spaces of text and hands out its words; false: enough.
func (m *metaspace) words(text string, atStart bool, yield func(string) bool) bool {
	text = strings.ReplaceAll(text, " ", spaceMark)
	if (m.prefix == "always" || m.prefix == "first" && atStart) && !strings.HasPrefix(text, spaceMark) {
		text = spaceMark + text
	}
	for m.split && text != "" {
		end := strings.Index(text[1:], spaceMark) + 1
		if end == 0 {
			break
		}
		if !yield(text[:end]) {
			return false
		}
		text = text[end:]
	}
	return text == "" || yield(text)
}
