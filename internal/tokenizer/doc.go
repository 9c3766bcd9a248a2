// Package tokenizer turns bytes into token ids and back, from a vocabulary that
// the caller has read out of a model file.
//
// A tokenizer works in three layers, each one table wide:
//
//	text ──special tokens cut out──▶ fragments ──pre-tokenizer──▶ words ──merges──▶ ids
//	        (special.go)                         (pretok.go)              (merge.go)
//
// The first layer decides what text can ever become a control token, so it is the
// only place where parseSpecial is looked at; the merges are built so that no plain
// text reaches what the file types as a control token. The second is hand-written scanners, one row of a
// table for each name that a vocabulary may give. The third is one merge engine for
// both kinds of vocabulary: byte-level BPE ranks pairs of ids, SentencePiece-style
// BPE ranks the text that a pair would make.
//
// Everything is linear in the text, up to the logarithm of a heap over one word, and
// works without recursion or backtracking, because prompts come from strangers.
package tokenizer
