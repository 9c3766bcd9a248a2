package tokenizer

import "cmp"

// kinds say what the names of vocabularies stand for.
var kinds = map[string]string{
	"llama": "SentencePiece-style BPE", "gpt2": "byte-level BPE", "gemma4": "BPE over characters", "bpe": "BPE over characters",
	"bert": "WordPiece", "t5": "unigram",
}

// Kind says for people what kind of tokenizer a vocabulary makes, with the name of
// its pre-tokenizer if it goes by one.
func (v *Vocab) Kind() string {
	kind := cmp.Or(kinds[v.Model], v.Model)
	if v.Rules == nil && v.Model == "gpt2" && v.Pre != "" {
		kind += " (" + v.Pre + ")"
	}
	return kind
}
