package vocab

import "github.com/paddock-go/paddock/internal/tokenizer"

// jsonModel is the model of a tokenizer.json.
type jsonModel struct {
	typ        string
	ids        []jsonToken // in the file's order
	scores     []float64   // of a unigram model, by id
	isList     bool        // the vocabulary is an array of tokens with scores
	merges     []string
	pairs      [][2]string
	unk        string
	unkID      int
	prefix     *string
	dropout    bool
	suffix     string
	fuse       bool
	fallback   bool
	whole      bool
	maxChars   int
	haveTokens bool
}

type jsonToken struct {
	text string
	id   int32
}

// maxID is the largest id that a file may have.
const maxID = 1<<24 - 1

func (s *jsonScan) model() jsonModel {
	m := jsonModel{unkID: -1, maxChars: 100}
	str := func(to *string) { s.orNull(func() { *to = s.text() }) }
	s.object(true, func(key string) {
		switch key {
		case "type":
			m.typ = s.text()
		case "vocab":
			m.haveTokens = true
			s.modelVocab(&m)
		case "merges":
			s.modelMerges(&m)
		case "unk_token":
			str(&m.unk)
		case "unk_id":
			s.orNull(func() { m.unkID = s.integer(maxID) })
		case "continuing_subword_prefix":
			s.orNull(func() { v := s.text(); m.prefix = &v })
		case "end_of_word_suffix":
			str(&m.suffix)
		case "dropout":
			s.orNull(func() { m.dropout = s.float() != 0 })
		case "fuse_unk":
			m.fuse = s.bool()
		case "byte_fallback":
			m.fallback = s.bool()
		case "ignore_merges":
			m.whole = s.bool()
		case "max_input_chars_per_word":
			m.maxChars = s.integer(1 << 20)
		default:
			s.fail("this field is not known here")
		}
	})
	switch {
	case s.err != nil:
	case !m.haveTokens:
		s.fail("a model without a vocabulary")
	case m.dropout:
		s.fail("dropout would make tokens a matter of chance")
	case m.typ == "" && !m.isList:
		m.typ = "BPE" // early files don't say
	}
	return m
}

// modelVocab reads {"token": id, …} or [["token", score], …].
func (s *jsonScan) modelVocab(m *jsonModel) {
	if s.peek() == '{' {
		s.object(false, func(text string) {
			m.ids = append(m.ids, jsonToken{text, int32(s.integer(maxID))})
		})
		return
	}
	m.isList = true
	s.array(func(id int) {
		if id > maxID {
			s.fail("more than %d tokens", maxID+1)
		}
		var t jsonToken
		var score float64
		s.array(func(i int) {
			switch i {
			case 0:
				t = jsonToken{s.text(), int32(id)}
			case 1:
				score = s.float()
			default:
				s.fail("want a token and its score")
			}
		})
		m.ids = append(m.ids, t)
		m.scores = append(m.scores, score)
	})
}

// modelMerges reads ["a b", …] or [["a", "b"], …].
func (s *jsonScan) modelMerges(m *jsonModel) {
	s.array(func(i int) {
		if s.peek() == '"' {
			m.merges = append(m.merges, s.text())
			return
		}
		var pair [2]string
		n := 0
		s.array(func(i int) {
			if n++; i < 2 {
				pair[i] = s.text()
			} else {
				s.fail("want two tokens")
			}
		})
		if n != 2 {
			s.fail("want two tokens")
		}
		m.pairs = append(m.pairs, pair)
	})
	if len(m.merges) > 0 && len(m.pairs) > 0 {
		s.fail("merges of both kinds, strings and pairs")
	}
}

// kind is the tokenizer's name for the model.
func (m *jsonModel) kind(s *jsonScan, split, decode []tokenizer.Step) string {
	byteLevel := func(list []tokenizer.Step) bool {
		return len(list) > 0 && list[len(list)-1].Type == "ByteLevel"
	}
	switch {
	case m.typ == "BPE" && !m.isList:
		if byteLevel(split) || byteLevel(decode) {
			return "gpt2"
		}
		return "bpe"
	case m.typ == "WordPiece" && !m.isList:
		return "bert"
	case m.typ == "WordLevel" && !m.isList:
		return "wordlevel"
	case m.typ == "Unigram" && m.isList, m.typ == "" && m.isList:
		return "t5"
	}
	s.fail("the model %q with this vocabulary is not supported: only BPE, WordPiece, WordLevel and Unigram are", shorten(m.typ))
	return ""
}
