package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// normalizerTypes are the normalizers of tokenizer.json by their type: a further one
// is a row.
var normalizerTypes = map[string]func(Step) (func(string) string, error){
	"NFC":       formStep(form{compose: true}),
	"NFD":       formStep(form{}),
	"NFKC":      formStep(form{compat: true, compose: true}),
	"NFKD":      formStep(form{compat: true}),
	"Lowercase": func(Step) (func(string) string, error) { return lowercase, nil },
	"StripAccents": func(Step) (func(string) string, error) {
		return func(text string) string { return dropMarks(text, unicode.M) }, nil
	},
	"Prepend": func(s Step) (func(string) string, error) {
		return func(text string) string {
			if text == "" {
				return ""
			}
			return s.Content + text
		}, nil
	},
	"Strip": func(s Step) (func(string) string, error) {
		return func(text string) string {
			if s.Left {
				text = strings.TrimLeftFunc(text, isSpace)
			}
			if s.Right {
				text = strings.TrimRightFunc(text, isSpace)
			}
			return text
		}, nil
	},
	"Nmt":            func(Step) (func(string) string, error) { return nmt, nil },
	"Replace":        replaceStep,
	"BertNormalizer": bertStep,
	"Precompiled": func(s Step) (func(string) string, error) {
		c, err := newCharsmap(s.Charsmap)
		if err != nil || c == nil {
			return func(text string) string { return text }, err
		}
		return c.applyClusters, nil
	},
}

// maxGrowth bounds how much longer than a text the steps together may make it, so that
// a file can't turn a short request into gigabytes; real files stay below 16.
const maxGrowth = 64

func normalizers(steps []Step) (list []func(string) string, err error) {
	growth := 1
	for i, s := range steps {
		if growth *= s.growth(); growth > maxGrowth {
			return nil, badVocab("Rules.Normalize", i, s.Type, "up to here text can grow %d times, at most %d times is allowed", growth, maxGrowth)
		}
		make, ok := normalizerTypes[s.Type]
		if !ok {
			return nil, unsupported("Rules.Normalize", s.Type, "this normalizer is not known here")
		}
		f, err := make(s)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// growth is how many times longer than a text what a step makes of it can be; NF forms
// and the others, whose growth nothing in a file sets, count as 1.
func (s *Step) growth() int {
	switch s.Type {
	case "Replace":
		n := max(len(s.Pattern), 1)
		if s.Regex {
			n = 1
		}
		return max(1, (min(len(s.Content), maxGrowth*n+n)+n-1)/n)
	case "Prepend":
		return 1 + min(len(s.Content), maxGrowth)
	}
	return 1
}

func formStep(f form) func(Step) (func(string) string, error) {
	return func(Step) (func(string) string, error) { return f.apply, nil }
}

// replacePatterns are the regular expressions that Replace is known with, by hand.
var replacePatterns = map[string]func(text, to string) string{
	" {2,}": func(text, to string) string { return replaceRuns(text, to, 2, func(r rune) bool { return r == ' ' }) },
	`\s+`:   func(text, to string) string { return replaceRuns(text, to, 1, isSpace) },
}

func replaceStep(s Step) (func(string) string, error) {
	if s.Regex {
		if f, ok := replacePatterns[s.Pattern]; ok {
			return func(text string) string { return f(text, s.Content) }, nil
		}
		p, err := compilePattern("Rules.Normalize", s.Pattern)
		if err != nil {
			return nil, err
		}
		return func(text string) string { return p.replace(text, s.Content) }, nil
	}
	if s.Pattern == "" {
		return nil, badVocab("Rules.Normalize", -1, "Replace", "the pattern is empty")
	}
	return func(text string) string { return strings.ReplaceAll(text, s.Pattern, s.Content) }, nil
}

// replaceRuns replaces runs of at least n characters in a set.
func replaceRuns(text, to string, n int, in func(rune) bool) string {
	var b strings.Builder
	for text != "" {
		rest := strings.TrimLeftFunc(text, in)
		run := text[:len(text)-len(rest)]
		if run == "" {
			end := strings.IndexFunc(text, in)
			if end < 0 {
				end = len(text)
			}
			b.WriteString(text[:end])
			text = text[end:]
			continue
		}
		if utf8.RuneCountInString(run) >= n {
			run = to
		}
		b.WriteString(run)
		text = rest
	}
	return b.String()
}

// lowercase goes character by character, so that no word's end changes a letter; of
// those that become two there is one.
func lowercase(text string) string {
	return mapRunes(text, func(b []byte, r rune) []byte {
		if r == 'İ' {
			return append(b, "i\u0307"...)
		}
		return utf8.AppendRune(b, unicode.ToLower(r))
	})
}

// nmt drops control characters and makes spaces of what separates or joins.
func nmt(text string) string {
	return mapRunes(text, func(b []byte, r rune) []byte {
		switch {
		case r == '\t' || r == '\n' || r == '\f' || r == '\r' || r == 0x1680 || 0x200B <= r && r <= 0x200F ||
			r == 0x2028 || r == 0x2029 || r == 0x2581 || r == 0xFEFF || r == utf8.RuneError:
			return append(b, ' ')
		case 0 < r && r < ' ' || r == 0x7F || r == 0x8F || r == 0x9F:
			return b
		}
		return utf8.AppendRune(b, r)
	})
}

// dropMarks drops marks: all kinds of them as a step of its own, those that take no
// space within BERT's.
func dropMarks(text string, marks *unicode.RangeTable) string {
	return mapRunes(text, func(b []byte, r rune) []byte {
		if unicode.Is(marks, r) {
			return b
		}
		return utf8.AppendRune(b, r)
	})
}

// mapRunes rewrites each character; bytes that are none stay.
func mapRunes(text string, f func(b []byte, r rune) []byte) string {
	out := make([]byte, 0, len(text)+len(text)/8)
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			out = append(out, text[0])
		} else {
			out = f(out, r)
		}
		text = text[n:]
	}
	return string(out)
}

// isControl leaves out unassigned characters, which Go's class C has too.
func isControl(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs) }

func bertStep(s Step) (func(string) string, error) {
	return func(text string) string {
		if s.Clean || s.Chinese {
			text = mapRunes(text, func(b []byte, r rune) []byte {
				switch {
				case s.Clean && (r == '\t' || r == '\n' || r == '\r' || isSpace(r) && !isControl(r)):
					return append(b, ' ')
				case s.Clean && (r == 0 || r == utf8.RuneError || isControl(r)):
					return b
				case s.Chinese && isIdeograph(r):
					return append(utf8.AppendRune(append(b, ' '), r), ' ')
				}
				return utf8.AppendRune(b, r)
			})
		}
		if s.Accents {
			text = dropMarks(form{}.apply(text), unicode.Mn)
		}
		if s.Lower {
			text = lowercase(text)
		}
		return text
	}, nil
}
