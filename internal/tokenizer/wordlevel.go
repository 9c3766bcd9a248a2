package tokenizer

// wordLevel has a token for each word that it knows.
type wordLevel struct {
	words *wordCutter
	ids   map[string]int32
	unk   int32
}

func newWordLevel(t *Tokenizer, v *Vocab) error {
	if v.Rules == nil {
		return unsupported("Model", v.Model, "only a tokenizer.json has this kind of vocabulary")
	}
	m := &wordLevel{ids: make(map[string]int32, len(t.texts)), unk: t.special.UNK}
	if m.unk == none {
		return badVocab("UNK", -1, "", "none: this kind of vocabulary needs an unknown token")
	}
	for id, text := range t.texts {
		if t.flags[id]&flagText != 0 && text != "" {
			m.ids[text] = int32(id)
		}
	}
	t.setPieces(func(dst []byte, text string) []byte { return append(append(dst, ' '), text...) })
	var err error
	m.words, err = wordsOf(v.Rules.Split)
	t.model = m
	return err
}

func (w *wordLevel) encode(dst []int32, text string, atStart bool, m *merger) []int32 {
	w.words.cut(text, atStart, m, func(word string) {
		id, ok := w.ids[word]
		if !ok {
			id = w.unk
		}
		dst = append(dst, id)
	})
	return dst
}
