package tokenizer

// Names of tokens that end a generation wherever they stand in a vocabulary, because
// files often name only one end token and chat models end turns with another. The
// first group of the table holds all that are present; of each fill-in-the-middle
// role only the first is taken, and only if the file names none itself.
var (
	endNames = []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
		"<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
		"<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
		"<｜end▁of▁sentence｜>", "[e~[",
	}
	fimPadNames = []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}
	fimRepNames = []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}
	fimSepNames = []string{"<|file_sep|>"}

	// Control tokens by name only: files that give them another type are mistaken, and
	// text could forge them.
	fimNames = []string{
		"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>",
		"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>",
		"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>",
	}

	// Where all of with are end tokens, except is not one: there it ends a message, not
	// a generation.
	endExceptions = []struct {
		with   []string
		except string
	}{
		{[]string{"<|return|>", "<|call|>"}, "<|end|>"},
		{[]string{"<|flush|>", "<|call|>"}, "<|end|>"},
		{[]string{"<|flush|>", "<|calls|>"}, "<|end|>"},
		{[]string{"<|return|>", "<|calls|>"}, "<|end|>"},
		{[]string{"<|tool_response>"}, "</s>"},
	}
)

// markEnds sets flagEOG. Unless types are to be trusted, it makes control tokens of what
// carries a name of one; if they are, a name counts for nothing on ordinary text.
func (t *Tokenizer) markEnds(trustTypes bool, ends []int32) {
	named := func(name string) (int32, bool) {
		id, ok := t.byText[name]
		if !ok || trustTypes && t.flags[id]&(flagControl|flagUserDefined|flagAdded) == 0 {
			return none, false
		}
		if !trustTypes {
			t.flags[id] |= flagControl
		}
		return id, true
	}
	sp := &t.special
	for _, role := range []struct {
		id    *int32
		names []string
	}{{&sp.FIMPad, fimPadNames}, {&sp.FIMRep, fimRepNames}, {&sp.FIMSep, fimSepNames}} {
		for _, name := range role.names {
			if *role.id == none {
				*role.id, _ = named(name)
			}
		}
	}
	for _, name := range fimNames {
		named(name)
	}
	for _, name := range endNames {
		if id, ok := named(name); ok {
			t.flags[id] |= flagEOG
		}
	}
	for _, id := range []int32{sp.FIMPad, sp.FIMRep, sp.FIMSep, sp.EOS, sp.EOT, sp.EOM} {
		if id != none {
			t.flags[id] |= flagEOG
		}
	}
	for _, id := range ends {
		t.flags[id] |= flagEOG
	}
	for _, x := range endExceptions {
		if id, ok := t.byText[x.except]; ok && t.allEnd(x.with) {
			t.flags[id] &^= flagEOG
			if t.flags[id]&flagText != 0 {
				t.flags[id] &^= flagControl // it was one by its name only
			}
		}
	}
}

func (t *Tokenizer) allEnd(names []string) bool {
	for _, name := range names {
		if id, ok := t.byText[name]; !ok || t.flags[id]&flagEOG == 0 {
			return false
		}
	}
	return true
}
