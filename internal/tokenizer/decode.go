package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A decoder turns the texts of tokens into pieces of the text that they make; the last
// one's are put together.
type decoder func(pieces []string) []string

// decoderTypes are the decoders of tokenizer.json by their type, ByteLevel aside: a
// further one is a row.
var decoderTypes = map[string]func(Step) (decoder, error){
	"Replace": func(s Step) (decoder, error) {
		if s.Pattern == "" {
			return nil, unsupported("Rules.Decode", s.Pattern, "Replace of nothing")
		}
		if s.Regex {
			p, err := compilePattern("Rules.Decode", s.Pattern)
			if err != nil {
				return nil, err
			}
			return eachPiece(func(text string) string { return p.replace(text, s.Content) }), nil
		}
		return eachPiece(func(p string) string { return strings.ReplaceAll(p, s.Pattern, s.Content) }), nil
	},
	"ByteFallback": func(Step) (decoder, error) { return byteFallback, nil },
	"Fuse": func(Step) (decoder, error) {
		return func(pieces []string) []string { return []string{strings.Join(pieces, "")} }, nil
	},
	"Strip": func(s Step) (decoder, error) {
		if r, n := utf8.DecodeRuneInString(s.Content); n != len(s.Content) || r == utf8.RuneError {
			return nil, unsupported("Rules.Decode", s.Content, "Strip needs one character")
		}
		return eachPiece(func(p string) string {
			for range s.Start {
				p = strings.TrimPrefix(p, s.Content)
			}
			for range s.Stop {
				p = strings.TrimSuffix(p, s.Content)
			}
			return p
		}), nil
	},
	"Metaspace": func(s Step) (decoder, error) {
		return func(pieces []string) []string {
			for i, p := range pieces {
				to := " "
				if i == 0 && s.Prefix != "never" {
					to = ""
				}
				pieces[i] = strings.ReplaceAll(p, s.Content, to)
			}
			return pieces
		}, nil
	},
	"BPEDecoder": func(s Step) (decoder, error) {
		return func(pieces []string) []string {
			for i, p := range pieces {
				to := " "
				if i == len(pieces)-1 {
					to = ""
				}
				pieces[i] = strings.ReplaceAll(p, s.Content, to)
			}
			return pieces
		}, nil
	},
	"CTC": func(s Step) (decoder, error) {
		return func(pieces []string) []string {
			out := pieces[:0]
			last, any := "", false
			for _, p := range pieces {
				if any && p == last {
					continue
				}
				last, any = p, true
				p = strings.ReplaceAll(p, s.Pattern, "")
				if s.Flag {
					p = strings.ReplaceAll(cleanPiece(p), s.Content, " ")
				}
				if p != "" {
					out = append(out, p)
				}
			}
			return out
		}, nil
	},
	"WordPiece": func(s Step) (decoder, error) {
		return func(pieces []string) []string {
			for i, p := range pieces {
				if i > 0 {
					if tail, ok := strings.CutPrefix(p, s.Prefix); ok {
						p = tail
					} else {
						p = " " + p
					}
				}
				if s.Flag {
					p = cleanPiece(p)
				}
				pieces[i] = p
			}
			return pieces
		}, nil
	},
}

// maxStrip bounds what Strip does to each piece.
const maxStrip = 64

// cleanPiece takes out spaces before punctuation in the text of one token.
func cleanPiece(p string) string {
	for _, x := range [][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
		{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		p = strings.ReplaceAll(p, x[0], x[1])
	}
	return p
}

func eachPiece(f func(string) string) decoder {
	return func(pieces []string) []string {
		for i, p := range pieces {
			pieces[i] = f(p)
		}
		return pieces
	}
}

// byteFallback makes bytes of byte tokens: a run of them that is no UTF-8 as a whole
// is as many U+FFFD.
func byteFallback(pieces []string) []string {
	out := pieces[:0]
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			if len(run) > 0 {
				out = append(out, string(run))
			}
		} else {
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, p := range pieces {
		if b, ok := byteOf(p); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, p)
	}
	flush()
	return out
}

// decodeBy sets how ids become text: by the decoders in order. For a stream of tokens,
// which can't wait for a whole text, the pieces that New made say the same, but for
// byte tokens that are no UTF-8.
func (t *Tokenizer) decodeBy(steps []Step) error {
	if len(steps) == 1 && steps[0].Type == "ByteLevel" {
		if _, ok := t.model.(*byteLevel); !ok {
			return unsupported("Rules.Decode", "ByteLevel", "with a vocabulary of another kind")
		}
		return nil
	}
	if _, ok := t.model.(*byteLevel); ok {
		return unsupported("Rules.Decode", "", "a byte-level vocabulary needs the decoder ByteLevel, alone")
	}
	var chain []decoder
	growth := 1
	for i, s := range steps {
		if growth *= s.growth(); growth > maxGrowth {
			return badVocab("Rules.Decode", i, s.Type, "up to here text can grow %d times, at most %d times is allowed", growth, maxGrowth)
		}
		make, ok := decoderTypes[s.Type]
		if !ok {
			return unsupported("Rules.Decode", s.Type, "this decoder is not known here, or not in this place")
		}
		if s.Start < 0 || s.Stop < 0 || s.Start > maxStrip || s.Stop > maxStrip {
			return badVocab("Rules.Decode", i, s.Type, "strips %d and %d, must be 0 to %d", s.Start, s.Stop, maxStrip)
		}
		d, err := make(s)
		if err != nil {
			return err
		}
		chain = append(chain, d)
		t.stripPrefix = t.stripPrefix || s.Type == "Strip" && s.Start > 0 && s.Content == " " ||
			s.Type == "Metaspace" && s.Prefix != "never" || s.Type == "WordPiece"
	}
	if len(chain) == 0 {
		chain = []decoder{func(pieces []string) []string { return []string{strings.Join(pieces, " ")} }}
	}
	t.rules.decode = func(ids []int32, skipSpecial bool) string {
		pieces := make([]string, 0, len(ids))
		for _, id := range ids {
			if t.has(id) && t.texts[id] != "" && !(skipSpecial && t.flags[id]&(flagControl|flagUnknown) != 0) {
				pieces = append(pieces, t.shown(id))
			}
		}
		for _, d := range chain {
			pieces = d(pieces)
		}
		return strings.ToValidUTF8(strings.Join(pieces, ""), "\uFFFD")
	}
	return nil
}
