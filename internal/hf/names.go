package hf

import (
	"strconv"
	"strings"
)

// place is where a tensor of the folder goes.
type place struct {
	name   string // here
	expert int    // -1: it is no expert's
	rotate rotate
}

// outer are the tensors that are no layer's.
var outer = map[string]string{
	"model.embed_tokens.weight": "token_embd.weight",
	"model.norm.weight":         "output_norm.weight",
	"lm_head.weight":            "output.weight",
}

// place finds the place of a tensor; skip says that it has none and needs none.
func (c *config) place(theirs string) (p place, skip, ok bool) {
	p.expert = -1
	if p.name, ok = outer[theirs]; ok {
		return p, c.Tied && theirs == "lm_head.weight", true
	}
	for _, end := range []string{".rotary_emb.inv_freq", ".weight_scale", ".weight_scale_inv", ".input_scale"} {
		if strings.HasSuffix(theirs, end) { // scales are read with their weights
			return p, true, true
		}
	}
	rest, ok := strings.CutPrefix(theirs, "model.layers.")
	if !ok {
		return p, false, false
	}
	layer, rest, _ := strings.Cut(rest, ".")
	if l, ok := number(layer); !ok || int64(l) >= c.Layers {
		return p, false, false
	}
	end := ".weight"
	theirs, ok = strings.CutSuffix(rest, end)
	if !ok {
		end = ".bias"
		if theirs, ok = strings.CutSuffix(rest, end); !ok {
			return p, false, false
		}
	}
	n, expert, ok := c.family.find(theirs)
	if !ok || expert >= 0 && int64(expert) >= c.experts() {
		return p, false, false
	}
	p = place{"blk." + layer + "." + n.ours + end, expert, n.rotate}
	if !c.family.pairs {
		p.rotate = still
	}
	return p, false, true
}

// number reads a number as names have it: no sign, no zeros in front.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && strconv.FormatUint(n, 10) == s
}

// numbered puts "#" for the number of an expert in a name; -1: there is none.
func numbered(s string) (pattern string, expert int, ok bool) {
	const mark = ".experts."
	i := strings.Index(s, mark)
	if i < 0 {
		return s, -1, true
	}
	i += len(mark)
	n, rest, _ := strings.Cut(s[i:], ".")
	expert, ok = number(n)
	return s[:i] + "#." + rest, expert, ok
}

// clip keeps an error short.
func clip(s string) string { return s[:min(len(s), 64)] }
