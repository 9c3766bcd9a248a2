package vocab

import (
	"encoding/base64"

	"github.com/paddock-go/paddock/internal/tokenizer"
)

// jsonStep holds the fields of a normalizer, a pre-tokenizer or a decoder until its
// type is known.
type jsonStep struct {
	tokenizer.Step
	prepend, replacement     string
	accents, prefixSpace     *bool
	useRegex, split, cleanup *bool
	individual               bool
	list                     []tokenizer.Step
	isSequence               bool
}

// maxSteps bounds the stages of one kind: real files have up to 7.
const maxSteps = 64

// steps reads a normalizer, a pre-tokenizer or a decoder, or null; sequences in
// sequences become one list. A field that isn't known here could change what the step
// does, so it is an error.
func (s *jsonScan) steps() []tokenizer.Step {
	var r jsonStep
	null := true
	s.orNull(func() {
		null = false
		s.object(true, func(key string) { s.stepField(&r, key) })
	})
	if null || s.err != nil {
		return nil
	}
	one := r.finish(s)
	if r.isSequence {
		return r.list
	}
	return []tokenizer.Step{one}
}

func (s *jsonScan) optional(to **bool) {
	s.orNull(func() { v := s.bool(); *to = &v })
}

func (s *jsonScan) stepField(r *jsonStep, key string) {
	switch key {
	case "type":
		r.Type = s.text()
	case "normalizers", "pretokenizers", "decoders":
		r.isSequence = true
		s.array(func(int) {
			if r.list = append(r.list, s.steps()...); len(r.list) > maxSteps {
				s.fail("more than %d stages", maxSteps)
			}
		})
	case "pattern":
		s.object(true, func(kind string) {
			switch kind {
			case "Regex":
				r.Regex = true
			case "String":
			default:
				s.fail("a pattern must be a String or a Regex")
			}
			r.Pattern = s.text()
		})
	case "delimiter", "suffix", "word_delimiter_token":
		r.Content = s.text()
	case "pad_token":
		r.Pattern = s.text()
	case "content":
		r.Content = s.text()
	case "prepend":
		r.prepend = s.text()
	case "replacement":
		r.replacement = s.text()
	case "strip_left":
		r.Left = s.bool()
	case "strip_right":
		r.Right = s.bool()
	case "start":
		r.Start = s.integer(1 << 20)
	case "stop":
		r.Stop = s.integer(1 << 20)
	case "prefix", "prepend_scheme":
		r.Prefix = s.text()
	case "behavior":
		r.Behavior = s.text()
	case "invert":
		r.Invert = s.bool()
	case "add_prefix_space":
		s.optional(&r.prefixSpace)
	case "use_regex":
		s.optional(&r.useRegex)
	case "split":
		s.optional(&r.split)
	case "cleanup":
		s.optional(&r.cleanup)
	case "individual_digits":
		r.individual = s.bool()
	case "clean_text":
		r.Clean = s.bool()
	case "handle_chinese_chars":
		r.Chinese = s.bool()
	case "lowercase":
		r.Lower = s.bool()
	case "strip_accents":
		s.optional(&r.accents)
	case "precompiled_charsmap":
		s.orNull(func() {
			b, err := base64.StdEncoding.DecodeString(s.text())
			if err != nil {
				s.fail("not base64")
			}
			r.Charsmap = b
		})
	case "trim_offsets", "str_rep": // of no effect on ids and text
		s.skip()
	default:
		s.fail("this field is not known here")
	}
}

func isSet(b *bool, def bool) bool {
	if b == nil {
		return def
	}
	return *b
}

// finish puts the fields where the type has them.
func (r *jsonStep) finish(s *jsonScan) tokenizer.Step {
	if r.isSequence && r.Type != "Sequence" {
		s.fail("a list of stages in a %q", shorten(r.Type))
	}
	switch r.Type {
	case "":
		s.fail("no type")
	case "Sequence":
		if !r.isSequence {
			s.fail("a Sequence without a list")
		}
	case "ByteLevel":
		r.Space, r.Flag = isSet(r.prefixSpace, true), isSet(r.useRegex, true)
	case "Metaspace":
		r.Content, r.Flag = r.replacement, isSet(r.split, true)
		if r.Prefix == "" {
			r.Prefix = "always"
		}
		if !isSet(r.prefixSpace, true) {
			r.Prefix = "never"
		}
		if r.Prefix != "always" && r.Prefix != "first" && r.Prefix != "never" {
			s.fail("prepend_scheme %q is not known here", shorten(r.Prefix))
		}
	case "Prepend":
		r.Content = r.prepend
	case "Digits":
		r.Flag = r.individual
	case "Punctuation":
		if r.Behavior == "" {
			r.Behavior = "Isolated"
		}
	case "BertNormalizer":
		r.Accents = isSet(r.accents, r.Lower)
	case "CTC":
		r.Flag = isSet(r.cleanup, true)
		if r.Pattern == "" || r.Content == "" {
			s.fail("CTC needs a pad_token and a word_delimiter_token")
		}
	case "BPEDecoder":
		if r.Content == "" {
			s.fail("BPEDecoder needs a suffix")
		}
	case "WordPiece":
		r.Flag = isSet(r.cleanup, true)
	}
	return r.Step
}
