package tokenizer

// cleanSpaces takes out spaces that WordPiece puts before punctuation: before one of
// ?!., then around an apostrophe that stands alone, then before 's 'm 're and 've. What
// one pass leaves is what the next one looks at.
func cleanSpaces(text []byte) []byte {
	text = rewrite(text, func(s []byte, i int) (drop, take int) {
		switch s[i] {
		case '?', '!', '.', ',':
			return 1, 1
		}
		return 0, 1
	})
	text = rewrite(text, func(s []byte, i int) (drop, take int) {
		if s[i] == '\'' && i+1 < len(s) && s[i+1] == ' ' {
			return 1, 2
		}
		return 0, 1
	})
	return rewrite(text, func(s []byte, i int) (drop, take int) {
		if s[i] == '\'' {
			switch rest := s[i+1:]; {
			case len(rest) > 0 && (rest[0] == 's' || rest[0] == 'm'),
				len(rest) > 1 && (rest[0] == 'r' || rest[0] == 'v') && rest[1] == 'e':
				return 1, 1
			}
		}
		return 0, 1
	})
}

// rewrite asks at, for each byte after a space, whether the space goes (drop 1) and
// how many bytes to take, of which the first is kept.
func rewrite(s []byte, at func(s []byte, i int) (drop, take int)) []byte {
	out := make([]byte, 0, len(s))
	afterSpace := false
	for i := 0; i < len(s); {
		take := 1
		if afterSpace {
			var drop int
			drop, take = at(s, i)
			out = out[:len(out)-drop]
		}
		out = append(out, s[i])
		afterSpace = s[i] == ' ' && take == 1
		i += take
	}
	return out
}
