package api

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep a body's JSON may nest.
const maxDepth = 64

// bounded checks what encoding/json would let pass or mend in silence: nesting
// beyond maxDepth, bytes that are no UTF-8, and half a surrogate pair, which no
// text can hold. b need not be valid JSON, and is not looked at again for it.
func bounded(b []byte) error {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return invalid("", "the body is not UTF-8 at byte %d", i)
		}
		i += n
	}
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
			if i < len(b) && b[i] == 'u' {
				n, ok := escape(b[i:])
				if !ok {
					return invalid("", "the body has half a surrogate pair at byte %d", i-1)
				}
				i += n - 1
			}
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return invalid("", "the body's JSON is nested deeper than %d levels", maxDepth)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

// escape takes the \uXXXX escape whose u is b[0], with the one that completes its
// pair if it needs one. ok is false for a half that stands alone.
func escape(b []byte) (n int, ok bool) {
	first, ok := hex4(b)
	if !ok || !utf16.IsSurrogate(first) {
		return 1, true // broken hex is for the JSON reader to refuse
	}
	if len(b) < 6 || b[5] != '\\' {
		return 0, false
	}
	second, ok := hex4(b[6:])
	if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return 0, false
	}
	return 11, true
}

// hex4 reads uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	return rune(n), err == nil
}
