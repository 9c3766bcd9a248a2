package tokenizer

// Detokenizer turns ids into text as they come. Copying one shares its buffer: don't.
// One goroutine at a time; any number of them over one Tokenizer.
type Detokenizer struct {
	t           *Tokenizer
	skipSpecial bool
	first       bool // the next token may carry the space that encoding added
	utf8        UTF8Stream
}

// Detokenizer returns a decoder. skipSpecial leaves control tokens out, else they give
// their text. continued says that the ids go on from a text, as generated ones do: then
// a space before the first word belongs to the text, and is kept.
func (t *Tokenizer) Detokenizer(skipSpecial, continued bool) *Detokenizer {
	return &Detokenizer{t: t, skipSpecial: skipSpecial, first: t.stripPrefix && !continued}
}

// Bytes returns the bytes that id adds, before any repair of UTF-8: what stop strings
// are matched against. A view that must not be written to; an id outside the vocabulary
// gives the byte FF, which becomes U+FFFD.
func (d *Detokenizer) Bytes(id int32) []byte {
	t := d.t
	if !t.has(id) {
		d.first = false
		return badID
	}
	f := t.flags[id]
	if d.skipSpecial && f&(flagControl|flagUnknown) != 0 {
		return nil
	}
	b := t.piece(id)
	if d.first && (f&flagNormal != 0 || t.rules != nil) && len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	d.first = false
	return b
}

var badID = []byte{0xFF}

// Push returns the text that id completes: valid UTF-8, possibly empty, good until the
// next call. Characters that are not whole are held back.
func (d *Detokenizer) Push(id int32) []byte {
	return d.utf8.Push(d.Bytes(id))
}

// Flush returns what is still held back, as U+FFFD.
func (d *Detokenizer) Flush() []byte { return d.utf8.Flush() }

// DecodeAsReference is Decode for those who hold it against another engine: of a GGUF
// file, it does what the reference does about spaces, which loses some. Of byte-pair
// vocabularies of certain names it takes out the spaces before punctuation, code or
// not, and the space that encoding adds comes off whatever the first token is. Of a
// tokenizer.json both are the same.
func (t *Tokenizer) DecodeAsReference(ids []int32, skipSpecial bool) string {
	if t.rules != nil {
		return t.Decode(ids, skipSpecial)
	}
	d := t.Detokenizer(skipSpecial, true)
	out := make([]byte, 0, 4*len(ids))
	first := t.dropsSpace
	for _, id := range ids {
		if skipSpecial && t.IsControl(id) {
			continue
		}
		b := d.Bytes(id)
		if first && len(b) > 0 && b[0] == ' ' {
			b = b[1:]
		}
		first = false
		out = append(out, d.utf8.Push(b)...)
	}
	out = append(out, d.Flush()...)
	if t.clean || t.cleansBPE {
		out = cleanSpaces(out)
	}
	return string(out)
}

// Decode returns the text of ids, with U+FFFD for torn characters and for ids outside
// the vocabulary. skipSpecial leaves control tokens out, else they give their text. The
// space that encoding puts before a text is taken off again. What looks at a whole text,
// as WordPiece's clean-up of spaces does, is done here and not by a Detokenizer: models
// with such a vocabulary generate nothing.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	if t.rules != nil && t.rules.decode != nil {
		return t.rules.decode(ids, skipSpecial)
	}
	d := t.Detokenizer(skipSpecial, false)
	out := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		out = append(out, d.Push(id)...)
	}
	out = append(out, d.Flush()...)
	if t.clean {
		out = cleanSpaces(out)
	}
	return string(out)
}
