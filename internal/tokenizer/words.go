package tokenizer

// wordCutter cuts text into what a model sees, for vocabularies that aren't byte-level:
// stages, then Metaspace where a file has it, then stages again. Without any of them all
// is one word.
type wordCutter struct {
	before, after []stage
	meta          *metaspace
}

// wordsOf reads the pre-tokenizers of a vocabulary that isn't byte-level.
func wordsOf(steps []Step) (*wordCutter, error) {
	w := new(wordCutter)
	from := 0
	var err error
	for i, s := range steps {
		if s.Type != "Metaspace" {
			continue
		}
		switch {
		case w.meta != nil:
			return nil, unsupported("Rules.Split", s.Type, "twice")
		case s.Content != spaceMark:
			return nil, unsupported("Rules.Split", s.Content, "Metaspace with a character other than U+2581")
		}
		if w.before, err = splitters(steps[:i]); err != nil {
			return nil, err
		}
		w.meta, from = &metaspace{prefix: s.Prefix, split: s.Flag}, i+1
	}
	w.after, err = splitters(steps[from:])
	return w, err
}

// none says that all is one word.
func (w *wordCutter) none() bool { return w.meta == nil && len(w.after) == 0 }

// cut hands out the words of a text; atStart says that the whole text begins with it.
func (w *wordCutter) cut(text string, atStart bool, m *merger, yield func(string)) {
	last := func(s string) { w.run(w.after, s, &m.patterns[1], func(s string, _ int) { yield(s) }) }
	if w.meta == nil {
		last(text)
		return
	}
	w.run(w.before, text, &m.patterns[0], func(s string, at int) { w.meta.words(s, atStart && at == 0, last) })
}

// run hands out the pieces that stages make, and where in the text they begin.
func (w *wordCutter) run(stages []stage, text string, s *patternScratch, yield func(string, int)) {
	if len(stages) == 0 {
		if text != "" {
			yield(text, 0)
		}
		return
	}
	p := pieces{stages: stages, work: s}
	p.begin(text)
	for piece := p.next(); piece != ""; piece = p.next() {
		yield(piece, p.at)
	}
}
