package tokenizer

import (
	"slices"
	"strings"
	"sync"
)

// Tokenizer encodes and decodes with one vocabulary. It does not change once made, so
// all its methods may be called from any number of goroutines at once.
type Tokenizer struct {
	texts   []string         // by id, as the file spells them; all within one string
	byText  map[string]int32 // the reverse; empty texts are left out
	flags   []flag           // by id
	bytes   []byte           // what ids decode to, end to end
	ends    []uint32         // by id: end of its bytes
	longest int              // bytes of the longest one
	special Specials
	addBOS  bool
	addEOS  bool
	addSEP  bool
	around  [2][]int32 // what addSpecial puts before and after a text
	// stripPrefix: decoding drops the space that encoding put before the first word.
	stripPrefix bool
	clean       bool     // decoding takes out the spaces before punctuation
	cleansBPE   bool     // and so does the reference, though it loses them
	dropsSpace  bool     // the reference takes one off the first token
	found       specials // what is cut out of a text
	rules       *rules   // of a tokenizer.json; nil else
	model       model
	scratch     sync.Pool // *scratch
}

// model is a kind of vocabulary at work.
type model interface {
	// encode appends the tokens of a text free of special tokens. atStart says that it
	// begins a sequence or follows a special token.
	encode(dst []int32, text string, atStart bool, m *merger) []int32
}

// flag says what a token is: a set, because a name can add flagControl to a file's type.
type flag uint8

const (
	flagNormal flag = 1 << iota
	flagUnknown
	flagControl
	flagUserDefined
	flagUnused
	flagByte
	flagEOG
	flagAdded // by a tokenizer.json to what its model knows: only ever cut out of a text

	// What plain text may become. Only a file's own types count here: a token that is
	// called control by its name alone (eog.go) is still reached by merges, as the
	// reference has it; Qwen's "</s>" is one.
	flagText = flagNormal | flagUserDefined | flagUnused
)

var flagOfType = [...]flag{
	TypeUndefined:   0,
	TypeNormal:      flagNormal,
	TypeUnknown:     flagUnknown,
	TypeControl:     flagControl,
	TypeUserDefined: flagUserDefined,
	TypeUnused:      flagUnused,
	TypeByte:        flagByte,
}

// models are the kinds of vocabulary: a further one is a row and a file.
var models = []struct {
	name string
	make func(*Tokenizer, *Vocab) error
	// defaults are ids that files of this kind may leave out.
	defaults Specials
}{
	{"llama", newSPM, Specials{1, 2, -1, -1, 0, -1, -1, -1, -1, -1, -1}},
	{"gpt2", newByteLevel, NoSpecials()},
	{"gemma4", newRawBPE, NoSpecials()},
	{"bpe", newRawBPE, NoSpecials()},
	{"bert", newWordPiece, Specials{101, -1, -1, -1, 100, 102, 0, 103, -1, -1, -1}},
	{"wordlevel", newWordLevel, NoSpecials()},
	{"t5", newUnigram, Specials{-1, 1, -1, -1, 2, -1, 0, -1, -1, -1, -1}},
}

// scratch is what one Encode works in.
type scratch struct {
	merger  merger
	matches []match
	inner   []match // of normalised text
}

// New builds a tokenizer. It refuses a vocabulary that contradicts itself, with a
// *VocabError that names the field, the entry and the reason; it takes time and memory
// proportional to the vocabulary. Nothing of v is kept.
func New(v Vocab) (*Tokenizer, error) {
	var names []string
	for _, m := range models {
		if m.name == v.Model {
			t, err := load(&v, m.defaults)
			if err != nil {
				return nil, err
			}
			if v.Rules != nil {
				if t.rules, err = newRules(t, v.Rules); err != nil {
					return nil, err
				}
			}
			if err := m.make(t, &v); err != nil {
				return nil, err
			}
			t.dropsSpace = t.stripPrefix || v.AddSpacePrefix == On
			if t.addBOS && t.special.BOS == none {
				return nil, badVocab("AddBOS", -1, "", "set, but the vocabulary has no BOS token")
			}
			if t.addEOS && t.special.EOS == none {
				return nil, badVocab("AddEOS", -1, "", "set, but the vocabulary has no EOS token")
			}
			if t.addBOS {
				t.around[0] = []int32{t.special.BOS}
			}
			if t.addEOS {
				t.around[1] = []int32{t.special.EOS}
			}
			if t.addSEP {
				t.around[1] = append(t.around[1], t.special.SEP)
			}
			if v.Rules != nil {
				if err := t.follow(v.Rules); err != nil {
					return nil, err
				}
				return t, nil
			}
			t.findSpecials(v.Name)
			return t, nil
		}
		names = append(names, m.name)
	}
	return nil, unsupported("Model", v.Model, "this kind of vocabulary is not known here (known: %s)", strings.Join(names, ", "))
}

// maxTokens bounds ids so that a pair of them, a state and a byte, and offsets of
// tokens each fit their integers with room to spare.
const maxTokens = 1 << 24

// load checks and copies the parts that all kinds share.
func load(v *Vocab, defaults Specials) (*Tokenizer, error) {
	n := len(v.Tokens)
	switch {
	case n == 0:
		return nil, badVocab("Tokens", -1, "", "none")
	case n > maxTokens:
		return nil, badVocab("Tokens", -1, "", "%d tokens; at most %d are supported", n, maxTokens)
	case v.Types != nil && len(v.Types) != n:
		return nil, badVocab("Types", -1, "", "%d types for %d tokens", len(v.Types), n)
	case v.Scores != nil && len(v.Scores) != n:
		return nil, badVocab("Scores", -1, "", "%d scores for %d tokens", len(v.Scores), n)
	}
	total := 0
	for _, s := range v.Tokens {
		total += len(s)
	}
	if total > 1<<30 {
		return nil, badVocab("Tokens", -1, "", "%d bytes of text; at most %d are supported", total, 1<<30)
	}
	t := &Tokenizer{
		texts:  make([]string, n),
		byText: make(map[string]int32, n),
		flags:  make([]flag, n),
	}
	var b strings.Builder
	b.Grow(total)
	for _, s := range v.Tokens {
		b.WriteString(s)
	}
	all := b.String()
	for id, s := range v.Tokens {
		text := all[:len(s)]
		all = all[len(s):]
		t.texts[id] = text
		kind := TypeNormal
		if v.Types != nil {
			kind = v.Types[id]
		}
		if kind < 0 || int(kind) >= len(flagOfType) {
			return nil, badVocab("Types", id, "", "%d is no token type (0 to %d)", kind, len(flagOfType)-1)
		}
		t.flags[id] = flagOfType[kind]
		if _, ok := byteOf(text); kind == TypeByte && !ok {
			return nil, badVocab("Tokens", id, text, "a byte token must be <0x00> to <0xFF>")
		}
		if text == "" {
			continue // can't be met in a text, so any number of them does no harm
		}
		if other, dup := t.byText[text]; dup {
			return nil, badVocab("Tokens", id, text, "the same text as token %d", other)
		}
		t.byText[text] = int32(id)
	}
	if v.Rules != nil {
		for _, a := range v.Rules.Added { // ids are checked later
			if a.Outside && t.has(a.ID) && t.flags[a.ID] == flagUserDefined {
				t.flags[a.ID] = flagAdded
			}
		}
	}
	var err error
	t.special, err = v.Specials.within(n, defaults)
	if err != nil {
		return nil, err
	}
	for i, id := range v.Ends {
		if id < 0 || int(id) >= n {
			return nil, badVocab("Ends", i, "", "id %d in a vocabulary of %d tokens", id, n)
		}
	}
	t.markEnds(v.TrustTypes, v.Ends)
	return t, nil
}

// within checks ids against the count of tokens and fills in defaults that fit it.
func (s Specials) within(n int, defaults Specials) (Specials, error) {
	d := defaults
	for _, x := range []struct {
		name string
		id   *int32
		def  int32
	}{
		{"BOS", &s.BOS, d.BOS}, {"EOS", &s.EOS, d.EOS}, {"EOT", &s.EOT, d.EOT}, {"EOM", &s.EOM, d.EOM},
		{"UNK", &s.UNK, d.UNK}, {"SEP", &s.SEP, d.SEP}, {"PAD", &s.PAD, d.PAD}, {"Mask", &s.Mask, d.Mask},
		{"FIMPad", &s.FIMPad, d.FIMPad}, {"FIMRep", &s.FIMRep, d.FIMRep}, {"FIMSep", &s.FIMSep, d.FIMSep},
	} {
		if *x.id < none || int(*x.id) >= n {
			return s, badVocab(x.name, -1, "", "id %d is outside the vocabulary of %d tokens", *x.id, n)
		}
		if *x.id == none && int(x.def) < n {
			*x.id = x.def
		}
	}
	return s, nil
}

// setPieces fills in what ids decode to; normal appends that of an ordinary token.
func (t *Tokenizer) setPieces(normal func(dst []byte, text string) []byte) {
	t.ends = make([]uint32, len(t.texts))
	for id, text := range t.texts {
		from := len(t.bytes)
		text = t.shown(int32(id))
		switch f := t.flags[id]; {
		case f&(flagControl|flagUnknown|flagUserDefined) != 0 && t.rules == nil:
			t.bytes = append(t.bytes, text...)
		case f&flagByte != 0:
			b, _ := byteOf(text)
			t.bytes = append(t.bytes, b)
		case f&flagNormal != 0, t.rules != nil: // a decoder of tokenizer.json knows no types
			t.bytes = normal(t.bytes, text)
		}
		t.ends[id] = uint32(len(t.bytes))
		t.longest = max(t.longest, len(t.bytes)-from)
	}
}

// findSpecials builds the automaton of what is cut out of a text.
func (t *Tokenizer) findSpecials(modelName string) {
	// Phi-3 files say nowhere that their special tokens swallow the space that
	// follows, so the reference goes by the model's name; so must we.
	name := strings.ToLower(modelName)
	phi3 := strings.Contains(name, "phi-3") || strings.Contains(name, "phi3")
	for id, text := range t.texts {
		f := t.flags[id]
		if f&(flagControl|flagUnknown|flagUserDefined) == 0 || text == "" {
			continue
		}
		t.found.add(text, specialToken{
			id:     int32(id),
			plain:  f&(flagControl|flagUnknown) == 0,
			rstrip: phi3 && !slices.Contains([]string{"<unk>", "<s>", "<|endoftext|>"}, text),
		})
	}
	t.found.build()
}

// Encode returns the tokens of text. addSpecial puts BOS and EOS around it if the
// vocabulary asks for them. parseSpecial also recognises the text of control tokens:
// only for text that a template made, since in a user's text it would let the user
// forge turns. Without it such text is plain text; user-defined tokens match either way.
//
// Any bytes may be given; those that are not UTF-8 go through as they are. Time and
// memory are linear in the text.
func (t *Tokenizer) Encode(text string, addSpecial, parseSpecial bool) []int32 {
	return t.AppendEncode(nil, text, addSpecial, parseSpecial)
}

// AppendEncode appends what Encode returns to dst.
func (t *Tokenizer) AppendEncode(dst []int32, text string, addSpecial, parseSpecial bool) []int32 {
	s, _ := t.scratch.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	dst = t.encode(dst, text, addSpecial, parseSpecial, s)
	// A rare huge word should not keep its scratch alive for good.
	if cap(s.merger.syms) <= 1<<16 && cap(s.merger.heap) <= 1<<16 && cap(s.merger.cells) <= 1<<16 && cap(s.matches) <= 1<<16 && cap(s.inner) <= 1<<16 && cap(s.merger.text) <= 1<<16 {
		t.scratch.Put(s)
	}
	return dst
}

func (t *Tokenizer) encode(dst []int32, text string, addSpecial, parseSpecial bool, s *scratch) []int32 {
	if addSpecial {
		dst = append(dst, t.around[0]...)
	}
	if t.rules != nil {
		dst = t.encodeByRules(dst, text, parseSpecial, s)
	} else {
		dst = t.encodeByNames(dst, text, parseSpecial, s)
	}
	if addSpecial {
		dst = append(dst, t.around[1]...)
	}
	return dst
}

// encodeByNames goes by what the names in a GGUF file imply.
func (t *Tokenizer) encodeByNames(dst []int32, text string, parseSpecial bool, s *scratch) []int32 {
	s.matches = t.found.find(s.matches, text, parseSpecial)
	from, atStart, rstrip := 0, true, false
	plain := func(to int) {
		text := text[from:to]
		if rstrip {
			text = strings.TrimLeft(text, asciiSpace)
		}
		if text != "" {
			dst = t.model.encode(dst, text, atStart, &s.merger)
		}
	}
	for _, m := range s.matches {
		tok := &t.found.toks[m.tok]
		plain(m.pos)
		dst = append(dst, tok.id)
		from, atStart, rstrip = m.pos+int(tok.size), true, tok.rstrip
	}
	plain(len(text))
	return dst
}

const asciiSpace = " \t\n\v\f\r"
