package tokenizer

import (
	"sync"
	"unicode/utf8"
)

// byPattern makes a stage of a pattern, compiled when a vocabulary first asks for it.
func byPattern(src string) stage {
	return stage{late: sync.OnceValue(func() *splitter {
		p, err := compilePattern("Pre", src)
		if err != nil {
			panic(err) // of a constant: a test compiles each
		}
		return &splitter{find: p.find, merge: behaviors["Isolated"]}
	})}
}

// ready is the stages with their patterns compiled.
func ready(stages []stage) []stage {
	out := make([]stage, len(stages))
	for i, s := range stages {
		if s.late != nil {
			s = stage{split: s.late()}
		}
		out[i] = s
	}
	return out
}

// What patterns of the reference of GGUF files share.
const (
	contractionPart = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	anyCaseWord     = `[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+` + contractionPart + `?`
	spaceParts      = `\s*[\r\n]+|\s+(?!\S)|\s+`
	signParts       = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+`
	sentencePart    = ` ?[^(\s|.,!?…。，、।۔،)]+`
)

// patternRows are the pre-tokenizers that no scanner was written for.
var patternRows = []preTokenizer{
	{
		names:      []string{"minicpm5"},
		stages:     []stage{{scan: runs(false, 3, ofClass(number, ""))}, byPattern(contractionPart + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaceParts)},
		wholeWords: true,
		cleans:     true,
	},
	{
		names:  []string{"spark2_5"},
		stages: []stage{{scan: runs(false, 3, ofClass(number, ""))}, {scan: runs(false, 0, ofRanges(deepseekCJK))}, byPattern(signParts + `|[\r\n]|\s+(?!\S)|\s+`), {scan: runs(false, 1, ofClass(number, ""))}},
	},
	{
		names:      []string{"youtu"},
		stages:     []stage{byPattern(`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+`), byPattern(anyCaseWord + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaceParts)},
		wholeWords: true,
	},
	{
		names:  []string{"jais-2"},
		stages: byScan(jais2Words),
		cleans: true,
	},
	{
		names:  []string{"poro-chat"},
		stages: []stage{byPattern(sentencePart)},
	},
	{
		names:  []string{"bloom", "gpt3-finnish"},
		stages: []stage{byPattern(sentencePart)},
		cleans: true,
	},
	{
		names:  []string{"viking"},
		stages: []stage{byPattern(sentencePart), {scan: runs(false, 1, ofClass(number, ""))}},
	},
	{
		names:  []string{"exaone-moe"},
		stages: []stage{byPattern(contractionPart + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`)},
		cleans: true,
	},
	{
		names:  []string{"chameleon"},
		stages: []stage{byPattern(`<sentinel:[0-9]+>`), byPattern(`IMGIMG[A-I]{1,4}Z`), byPattern(`[\t\n]|    |  `), {scan: runs(false, 1, ofClass(number, ""))}, byPattern("[\\p{P}!-/:-@\\[-`{-~]"), {scan: gpt2Words}},
		addBOS: true,
	},
	{
		names:      []string{"granite-embed-multi-97m"},
		stages:     []stage{byPattern(`[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]*[\p{L}\p{M}&&[^A-Z]]+` + contractionPart + `?|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}&&[^a-z]]+[\p{L}\p{M}&&[^A-Z]]*` + contractionPart + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaceParts)},
		wholeWords: true,
	},
	{
		names:  []string{"tiny_aya", "cohere2moe"},
		stages: []stage{{scan: digitsFromRight}, byPattern(anyCaseWord + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaceParts)},
	},
	{
		names:  []string{"superbpe"},
		stages: []stage{{scan: runs(false, 0, ofClass(number, ""))}, byPattern(`(?=(?:[0-9]{3})+(?![0-9]))`)},
	},
	{
		names:  []string{"bailingmoe", "bailingmoe2", "llada-moe"},
		stages: []stage{byPattern(`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`)},
	},
	{
		names:  []string{"seed-coder"},
		stages: []stage{byPattern(contractionPart + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|` + spaceParts)},
	},
	{
		names:  []string{"kimi-k2"},
		stages: []stage{byPattern(kimiHan + `+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^` + kimiHan[1:] + `]+` + contractionPart + `?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaceParts)},
	},
	{
		names:  []string{"ufakzeka"},
		stages: []stage{byPattern(`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaceParts)},
	},
	{
		names: []string{"afmoe"},
		stages: []stage{{scan: digitsFromRight},
			byPattern(`[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+`),
			byPattern(signParts + `[\r\n]*|` + spaceParts)},
	},
	{
		names:  []string{"laguna"},
		stages: []stage{{scan: lines}, {scan: wordShape{letter, 1, foldASCII}.words()}},
	},
}

const kimiHan = `[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2EBEF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]`

// digitsFromRight cuts runs of numbers into threes from their end; what lies before a
// run belongs to its first piece.
func digitsFromRight(s string) int {
	t := classes()
	n := t.runNot(s, number)
	count, at := 0, n
	for at < len(s) {
		c, size := t.at(s[at:])
		if c&number == 0 {
			break
		}
		count++
		at += size
	}
	if count == 0 {
		return len(s)
	}
	for first := (count-1)%3 + 1; first > 0; first-- {
		_, size := t.at(s[n:])
		n += size
	}
	return n
}

// jais2Words is wordShape's, but for white space without a line's end, which is cut into
// powers of two, the largest first, as far as a word leaves them.
func jais2Words(s string) int {
	t := classes()
	n := wordShape{letter, 3, foldASCII}.next(t, s)
	run, last, newline := spaces(t, s)
	if newline > 0 || n > run {
		return n
	}
	if run < len(s) && last > 0 { // the last one belongs to the word
		run = last
	}
	sizes := [...]int{512, 256, 128, 64, 32, 16, 8, 4, 2, 1}
	count := utf8.RuneCountInString(s[:run])
	for _, k := range sizes {
		if k > count {
			continue
		}
		n = 0
		for range k {
			_, size := t.at(s[n:])
			n += size
		}
		return n
	}
	return n
}
