package tokenizer

// VocabSize returns the count of ids.
func (t *Tokenizer) VocabSize() int { return len(t.flags) }

// Specials returns the ids with a role, defaults and names applied; -1 is none.
func (t *Tokenizer) Specials() Specials { return t.special }

// AddsBOS and AddsEOS say what Encode's addSpecial puts around a text.
func (t *Tokenizer) AddsBOS() bool { return t.addBOS }

// AddsEOS says whether Encode's addSpecial ends a text with EOS.
func (t *Tokenizer) AddsEOS() bool { return t.addEOS }

// ID returns the token whose text, as the file spells it, is text.
func (t *Tokenizer) ID(text string) (id int32, ok bool) {
	id, ok = t.byText[text]
	return id, ok
}

// Text returns a token's text as the file spells it; "" for an id outside the vocabulary.
func (t *Tokenizer) Text(id int32) string {
	if !t.has(id) {
		return ""
	}
	return t.texts[id]
}

// TokenBytes returns the bytes that id decodes to in the middle of a text: often not
// whole characters. Control tokens give their text. The slice is a view of at most
// MaxTokenBytes that must not be written to; nil for an id outside the vocabulary.
func (t *Tokenizer) TokenBytes(id int32) []byte {
	if !t.has(id) {
		return nil
	}
	return t.piece(id)
}

// MaxTokenBytes returns the length of the longest TokenBytes.
func (t *Tokenizer) MaxTokenBytes() int { return t.longest }

func (t *Tokenizer) has(id int32) bool { return id >= 0 && int(id) < len(t.flags) }

func (t *Tokenizer) piece(id int32) []byte {
	from := uint32(0)
	if id > 0 {
		from = t.ends[id-1]
	}
	to := t.ends[id]
	return t.bytes[from:to:to]
}

// IsControl reports whether id is a control token, by type or by name, or the unknown
// token: what skipping special tokens leaves out.
func (t *Tokenizer) IsControl(id int32) bool {
	return t.has(id) && t.flags[id]&(flagControl|flagUnknown) != 0
}

// IsEOG reports whether id ends a generation: the end tokens that the file names, and
// the ones known by their text.
func (t *Tokenizer) IsEOG(id int32) bool {
	return t.has(id) && t.flags[id]&flagEOG != 0
}

// EOG returns all ids that end a generation, ascending.
func (t *Tokenizer) EOG() []int32 {
	var ids []int32
	for id, f := range t.flags {
		if f&flagEOG != 0 {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// MissingBytes returns the bytes that this vocabulary has no token for, so that
// encoding leaves them out; mostly none, or only bytes that UTF-8 never uses.
func (t *Tokenizer) MissingBytes() []byte {
	b, ok := t.model.(*byteLevel)
	if !ok || b.spelled != nil && (b.spelled.unk >= 0 || b.spelled.bytes != nil) {
		return nil
	}
	var missing []byte
	for i, id := range b.bytes {
		if id == none {
			missing = append(missing, byte(i))
		}
	}
	return missing
}
