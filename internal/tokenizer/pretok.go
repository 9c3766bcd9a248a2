package tokenizer

import (
	"slices"
	"strings"
)

// preTokenizer is a way to cut text into words, under the names files give it.
type preTokenizer struct {
	names      []string
	stages     []stage
	wholeWords bool // a word that is a token is that token, whatever the merges say
	addBOS     bool // where the file does not say
	cleans     bool // the reference decodes without the spaces before punctuation
}

const maxStages = 8

// byteLevelRows are the pre-tokenizers of byte-level vocabularies. A further one is a
// row here and, if no scanner fits, a scanner.
var byteLevelRows = []preTokenizer{
	{
		names:  []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "gigachat", "a.x-4.0", "mellum", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code", "roberta-bpe"},
		stages: byScan(gpt2Words),
		cleans: true,
	},
	{
		names:  []string{"trillion", "granite-docling"},
		stages: byScan(gpt2Words),
	},
	{
		names:      []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
		stages:     byScan(wordShape{letter, 3, foldASCII}.words()),
		wholeWords: true,
		addBOS:     true,
		cleans:     true,
	},
	{
		names:  []string{"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"},
		stages: byScan(wordShape{letter, 3, foldASCII}.words()),
		cleans: true,
	},
	{
		names:  []string{"stablelm2", "megrez"},
		stages: byScan(wordShape{letter, 1, foldASCII}.words()),
		cleans: true,
	},
	{
		names:  []string{"qwen2", "deepseek-r1-qwen", "hunyuan", "solar-open", "grok-2", "kormo", "f2llmv2"},
		stages: byScan(wordShape{letter, 1, foldASCII}.words()),
	},
	{
		names:  []string{"qwen35"},
		stages: byScan(wordShape{letter | mark, 1, foldASCII}.words()),
	},
	{
		names:  []string{"starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
		stages: byScan(runs(false, 1, ofClass(number, "")), gpt2Words),
		cleans: true,
	},
	{
		names:  []string{"command-r", "smollm"},
		stages: byScan(runs(false, 1, ofClass(number, "")), gpt2Words),
	},
	{
		names:  []string{"falcon"},
		stages: byScan(runs(false, 0, ofClass(punct, "$+<=>^~|`")), gpt2Words, digitTriples),
		cleans: true,
	},
	{
		names:  []string{"default"},
		stages: byScan(runs(false, 0, ofClass(punct, "$+<=>^~|")), gpt2Words, runs(false, 0, ofClass(number, "")), digitTriples),
		cleans: true,
	},
	{
		names:  []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
		stages: byScan(casedWords{digits: 3, contracts: true, fold: foldASCII, ascii: true}.words()),
	},
	{
		names:      []string{"tekken"},
		stages:     byScan(casedWords{digits: 1, ascii: true}.words()),
		wholeWords: true,
		addBOS:     true,
	},
	{
		names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
		stages: byScan(
			runs(false, 3, ofClass(number, "")),
			runs(false, 0, ofRanges(deepseekCJK)),
			deepseekWords,
		),
	},
	{
		names: []string{"deepseek-coder"},
		stages: byScan(
			runs(false, 1, ofClass(0, "\r\n")),
			runs(true, 0, ofClass(letter, "")),
			runs(true, 0, ofClass(punct, "")),
			runs(false, 0, ofRanges(ideographs)),
			runs(false, 1, ofClass(number, "")),
		),
	},
	{
		names: []string{"deepseek-llm"},
		stages: byScan(
			runs(false, 1, ofClass(0, "\r\n")),
			runs(true, 0, ofRanges(casedLetters)),
			runs(true, 0, ofRanges(wideMarks)),
			trailingSpace,
			runs(false, 0, ofRanges(ideographs)),
			runs(false, 0, ofClass(number, "")),
		),
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

// pieces runs the stages of a row over a text, one inside the other.
type pieces struct {
	stages []stage
	rest   [maxStages]string // what each stage has still to cut
	cuts   [maxStages][]span // of a splitter: the pieces of rest that are to come
	base   [maxStages]int    // where in the text it began
	size   [maxStages]int
	depth  int
	at     int // where in the text the last piece begins
	work   *patternScratch
}

// begin starts over with a text.
func (p *pieces) begin(text string) {
	p.depth, p.at = 0, 0
	p.enter(text)
}

func (p *pieces) enter(text string) {
	p.rest[p.depth], p.base[p.depth], p.size[p.depth] = text, p.at, len(text)
	split := p.stages[p.depth].split
	if split == nil {
		return
	}
	if p.work == nil {
		p.work = new(patternScratch)
	}
	buf := p.work.cuts[p.depth]
	buf = split.cut(buf[:0], text, p.work)
	p.work.cuts[p.depth], p.cuts[p.depth] = buf, buf
}

// next returns the next word, or "" at the end.
func (p *pieces) next() string {
	for {
		piece := p.piece()
		switch {
		case piece == "" && p.depth == 0:
			return ""
		case piece == "":
			p.depth--
		case p.depth == len(p.stages)-1:
			return piece
		default:
			p.depth++
			p.enter(piece)
		}
	}
}

// piece takes the next one from the stage at hand; "" at its end.
func (p *pieces) piece() string {
	s := p.rest[p.depth]
	if p.stages[p.depth].split == nil {
		if s == "" {
			return ""
		}
		n := p.stages[p.depth].scan(s)
		p.at = p.base[p.depth] + p.size[p.depth] - len(s)
		p.rest[p.depth] = s[n:]
		return s[:n]
	}
	for cuts := p.cuts[p.depth]; len(cuts) > 0; cuts = p.cuts[p.depth] {
		p.cuts[p.depth] = cuts[1:]
		if c := cuts[0]; c.end > c.beg {
			p.at = p.base[p.depth] + c.beg
			return s[c.beg:c.end]
		}
	}
	return ""
}
