package tokenizer

import (
	"slices"
	"strings"
)

// preTokenizer is a way to cut text into words, under the names files give it.
type preTokenizer struct {
	names      []string
	stages     []scanner
	wholeWords bool // a word that is a token is that token, whatever the merges say
	addBOS     bool // where the file does not say
	cleans     bool // the reference decodes without the spaces before punctuation
}

const maxStages = 6

// byteLevelRows are the pre-tokenizers of byte-level vocabularies. A further one is a
// row here and, if no scanner fits, a scanner.
var byteLevelRows = []preTokenizer{
	{
		names:  []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "gigachat", "a.x-4.0", "mellum", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code", "roberta-bpe"},
		stages: []scanner{gpt2Words},
		cleans: true,
	},
	{
		names:  []string{"trillion", "granite-docling"},
		stages: []scanner{gpt2Words},
	},
	{
		names:      []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
		stages:     []scanner{wordShape{letter, 3, foldASCII}.words()},
		wholeWords: true,
		addBOS:     true,
		cleans:     true,
	},
	{
		names:  []string{"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"},
		stages: []scanner{wordShape{letter, 3, foldASCII}.words()},
		cleans: true,
	},
	{
		names:  []string{"stablelm2", "megrez"},
		stages: []scanner{wordShape{letter, 1, foldASCII}.words()},
		cleans: true,
	},
	{
		names:  []string{"qwen2", "deepseek-r1-qwen", "hunyuan", "solar-open", "grok-2", "kormo", "f2llmv2"},
		stages: []scanner{wordShape{letter, 1, foldASCII}.words()},
	},
	{
		names:  []string{"qwen35"},
		stages: []scanner{wordShape{letter | mark, 1, foldASCII}.words()},
	},
	{
		names:  []string{"starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
		stages: []scanner{runs(false, 1, ofClass(number, "")), gpt2Words},
		cleans: true,
	},
	{
		names:  []string{"command-r", "smollm"},
		stages: []scanner{runs(false, 1, ofClass(number, "")), gpt2Words},
	},
	{
		names:  []string{"falcon"},
		stages: []scanner{runs(false, 0, ofClass(punct, "$+<=>^~|`")), gpt2Words, digitTriples},
		cleans: true,
	},
	{
		names:  []string{"default"},
		stages: []scanner{runs(false, 0, ofClass(punct, "$+<=>^~|")), gpt2Words, runs(false, 0, ofClass(number, "")), digitTriples},
		cleans: true,
	},
	{
		names:  []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
		stages: []scanner{casedWords{digits: 3, contracts: true, fold: foldASCII, ascii: true}.words()},
	},
	{
		names:      []string{"tekken"},
		stages:     []scanner{casedWords{digits: 1, ascii: true}.words()},
		wholeWords: true,
		addBOS:     true,
	},
	{
		names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
		stages: []scanner{
			runs(false, 3, ofClass(number, "")),
			runs(false, 0, ofRanges(deepseekCJK)),
			deepseekWords,
		},
	},
	{
		names: []string{"deepseek-coder"},
		stages: []scanner{
			runs(false, 1, ofClass(0, "\r\n")),
			runs(true, 0, ofClass(letter, "")),
			runs(true, 0, ofClass(punct, "")),
			runs(false, 0, ofRanges(ideographs)),
			runs(false, 1, ofClass(number, "")),
		},
	},
	{
		names: []string{"deepseek-llm"},
		stages: []scanner{
			runs(false, 1, ofClass(0, "\r\n")),
			runs(true, 0, ofRanges(casedLetters)),
			runs(true, 0, ofRanges(wideMarks)),
			trailingSpace,
			runs(false, 0, ofRanges(ideographs)),
			runs(false, 0, ofClass(number, "")),
		},
	},
}

// preTokenizerNamed finds a row; an empty name is no name, since guessing one would
// silently give a model the wrong words.
func preTokenizerNamed(name string, rows []preTokenizer) (*preTokenizer, error) {
	var known []string
	for i := range rows {
		if slices.Contains(rows[i].names, name) {
			return &rows[i], nil
		}
		known = append(known, rows[i].names...)
	}
	if name == "" {
		return nil, unsupported("Pre", "", "the vocabulary names no pre-tokenizer, and guessing one would give wrong tokens; convert the model again")
	}
	slices.Sort(known)
	return nil, unsupported("Pre", name, "this pre-tokenizer is not known here (known: %s)", strings.Join(known, ", "))
}

// pieces runs the scanners of a row over a text, one inside the other.
type pieces struct {
	stages []scanner
	rest   [maxStages]string // what each stage has still to cut
	depth  int
}

// next returns the next word, or "" at the end.
func (p *pieces) next() string {
	for {
		s := p.rest[p.depth]
		if s == "" {
			if p.depth == 0 {
				return ""
			}
			p.depth--
			continue
		}
		n := p.stages[p.depth](s)
		p.rest[p.depth] = s[n:]
		if p.depth == len(p.stages)-1 {
			return s[:n]
		}
		p.depth++
		p.rest[p.depth] = s[:n]
	}
}
