package tokenizer

// Token types, numbered as GGUF files number them.
const (
	TypeUndefined   int32 = iota // decodes to nothing
	TypeNormal                   // ordinary text
	TypeUnknown                  // stands for text that has no token
	TypeControl                  // never made from plain text
	TypeUserDefined              // text that is always one token
	TypeUnused                   // decodes to nothing
	TypeByte                     // "<0x00>" to "<0xFF>": one byte
)

// Setting is a flag that a file may leave out; then the kind of vocabulary decides.
type Setting int8

// Values of a Setting.
const (
	Default Setting = iota
	Off
	On
)

// Set turns a flag that is present in a file into a Setting.
func Set(on bool) Setting {
	if on {
		return On
	}
	return Off
}

func (s Setting) or(def bool) bool {
	if s == Default {
		return def
	}
	return s == On
}

// Specials are the ids of tokens with a role; -1 where there is none. Start from
// NoSpecials: 0 is an id.
type Specials struct {
	BOS, EOS, EOT, EOM     int32 // begin of sequence; end of sequence, turn, message
	UNK, SEP, PAD, Mask    int32
	FIMPad, FIMRep, FIMSep int32 // fill-in-the-middle: padding, repository, file separator
}

// NoSpecials returns Specials with every id absent.
func NoSpecials() Specials {
	return Specials{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
}

// Vocab is a vocabulary as a model file states it. New copies what it keeps.
type Vocab struct {
	// Model is "llama" (SentencePiece-style BPE by scores), "gpt2" (byte-level BPE), "gemma4"
	// and "bpe" (BPE over characters, the second as Rules say), "bert" (WordPiece),
	// "wordlevel" (a token a word, as Rules say) or "t5" (unigram).
	Model string
	Pre   string // the pre-tokenizer's name, for "gpt2" without Rules
	Name  string // the model's name (general.name), for the few whose tokens strip space; may be empty

	Tokens []string  // text of each id, as the file spells it
	Scores []float32 // one a token, or none; needed for "llama", where higher merges first
	Types  []int32   // one a token, or none: all TypeNormal
	// TrustTypes says that Types are as the model's makers wrote them. GGUF files often
	// type an end token as text, so without it a token with the name of a control token
	// is one.
	TrustTypes bool
	Merges     []string    // "left right", best first; needed for "gpt2", "gemma4" and "bpe"
	Pairs      [][2]string // the same with the parts apart; one of both may be given

	Specials
	Ends           []int32 // further tokens that end a generation
	AddBOS, AddEOS Setting // what Encode's addSpecial puts around a text; "bert" without Rules has BOS and SEP whatever they say
	AddSpacePrefix Setting // "llama", "t5": a space goes before text that begins a sequence or follows a special token
	SpaceSuffix    Setting // "t5": that space goes after the text
	MergeSpaces    Setting // "t5": runs of spaces count as one
	Lowercase      Setting // "bert": letters become small; on where a file says nothing
	StripAccents   Setting // "bert": accents go; as Lowercase where a file says nothing
	Charsmap       []byte  // "t5": SentencePiece's compiled replacements

	// Rules replace all that names imply by what a tokenizer.json says step by step; nil
	// for other files.
	Rules *Rules
}
