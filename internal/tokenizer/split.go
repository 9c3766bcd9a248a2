package tokenizer

import "unicode/utf8"

// splitPattern is a regular expression that a Split may have, and the scanners that do
// what it does. all says that it matches every character, so that nothing lies between.
type splitPattern struct {
	stages []scanner
	all    bool
}

// splitPatterns are the known ones, written as the files write them: a further one is
// a row and, if no scanner fits, a scanner.
var splitPatterns = map[string]splitPattern{
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {
		stages: []scanner{wordShape{letter, 3, foldLetter}.words()}, all: true,
	},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {
		stages: []scanner{wordShape{letter, 1, foldLetter}.words()}, all: true,
	},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {
		stages: []scanner{wordShape{letter | mark, 1, foldLetter}.words()}, all: true,
	},
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`: {
		stages: []scanner{gpt2Words}, all: true,
	},
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {
		stages: []scanner{casedWords{digits: 3, contracts: true, fold: foldLetter}.words()}, all: true,
	},
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {
		stages: []scanner{casedWords{digits: 1}.words()}, all: true,
	},
	`\p{N}{1,3}`:        {stages: []scanner{runs(false, 3, ofClass(number, ""))}},
	`\p{N}`:             {stages: []scanner{runs(false, 1, ofClass(number, ""))}},
	`\d`:                {stages: []scanner{runs(false, 1, ofDecimals)}},
	"[一-龥\u3040-ゟ゠-ヿ]+": {stages: []scanner{runs(false, 0, ofRanges(deepseekCJK))}},
	deepseekPattern:     {stages: []scanner{deepseekWords}},
	`[0-9][0-9][0-9]`:   {stages: []scanner{digitTriples}},
	`[0-9]{3}`:          {stages: []scanner{digitTriples}},
	`\s?\p{L}+`:         {stages: []scanner{runs(true, 0, ofClass(letter, ""))}},
	`\s?\p{P}+`:         {stages: []scanner{runs(true, 0, ofClass(punct, ""))}},
	`[\r\n]`:            {stages: []scanner{runs(false, 1, ofClass(0, "\r\n"))}},
	`\s+$`:              {stages: []scanner{trailingSpace}},
	`[一-龥ࠀ-一가-퟿]+`:      {stages: []scanner{runs(false, 0, ofRanges(ideographs))}},
}

const deepseekPattern = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

// splitSteps are the pre-tokenizers of tokenizer.json that only cut: a further one is a
// row.
var splitSteps = map[string]func(Step) ([]stage, error){
	"Split": splitStep,
	"Digits": func(s Step) ([]stage, error) {
		limit := 0
		if s.Flag {
			limit = 1
		}
		return byScan(runs(false, limit, ofClass(number, ""))), nil
	},
	"Punctuation": func(s Step) ([]stage, error) { return cutting(findChars(ofBertPunct), s.Behavior, false) },
	"CharDelimiterSplit": func(s Step) ([]stage, error) {
		r, n := utf8.DecodeRuneInString(s.Content)
		if n == 0 || n != len(s.Content) {
			return nil, badVocab("Rules.Split", -1, s.Content, "CharDelimiterSplit needs one character")
		}
		return cutting(findChars(ofRune(r)), "Removed", false)
	},
	"WhitespaceSplit": func(Step) ([]stage, error) { return cutting(findChars(ofClass(space, "")), "Removed", false) },
	"Whitespace": func(Step) ([]stage, error) {
		p, err := compilePattern("Rules.Split", `\p{textword}+|[^\p{textword}\s]+`)
		if err != nil {
			return nil, err
		}
		return cutting(p.find, "Removed", true)
	},
	"BertPreTokenizer": func(Step) ([]stage, error) {
		words, err := cutting(findChars(ofClass(space, "")), "Removed", false)
		if err != nil {
			return nil, err
		}
		marks, err := cutting(findChars(ofBertPunct), "Isolated", false)
		return append(words, marks...), err
	},
}

func cutting(find func(string, *patternScratch) []span, behavior string, invert bool) ([]stage, error) {
	s, err := newSplitter(find, behavior, invert)
	return []stage{s}, err
}

func splitStep(s Step) ([]stage, error) {
	if !s.Regex {
		if s.Pattern == "" {
			return nil, unsupported("Rules.Split", s.Behavior, "Split by an empty string")
		}
		return cutting(findText(s.Pattern), s.Behavior, s.Invert)
	}
	p, ok := splitPatterns[s.Pattern]
	if ok && (s.Behavior == "Isolated" && !s.Invert || p.all && s.Behavior == "Removed" && s.Invert) {
		return byScan(p.stages...), nil
	}
	own, err := compilePattern("Rules.Split", s.Pattern)
	if err != nil {
		return nil, err
	}
	return cutting(own.find, s.Behavior, s.Invert)
}

// splitters are the stages of steps that only cut.
func splitters(steps []Step) (stages []stage, err error) {
	for _, s := range steps {
		make, ok := splitSteps[s.Type]
		if !ok {
			return nil, unsupported("Rules.Split", s.Type, "this pre-tokenizer is not known here, or not in this place")
		}
		more, err := make(s)
		if err != nil {
			return nil, err
		}
		stages = append(stages, more...)
	}
	if len(stages) > maxStages {
		return nil, unsupported("Rules.Split", "", "%d stages, at most %d", len(stages), maxStages)
	}
	return stages, nil
}
