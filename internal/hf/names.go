package hf

import (
	"slices"
	"strconv"
	"strings"
)

// name is how a tensor is called there and here, without the end ".weight" or ".bias"
// unless ours has one. "#" stands for a layer's number; there, a second one is an
// expert's. A name there may be in several rows, for tensors that are divided.
type name struct {
	theirs, ours string
	by           *transform // nil: as it is
}

// place is where a tensor of the folder goes.
type place struct {
	name   string // here
	expert int    // -1: it is no expert's
	by     *transform
}

// Names that many classes share.
var (
	outer = []name{
		{"embed_tokens", "token_embd", nil},
		{"norm", "output_norm", nil},
		{"lm_head", "output", nil},
	}
	attention = []name{
		{"layers.#.input_layernorm", "blk.#.attn_norm", nil},
		{"layers.#.self_attn.q_proj", "blk.#.attn_q", nil},
		{"layers.#.self_attn.k_proj", "blk.#.attn_k", nil},
		{"layers.#.self_attn.v_proj", "blk.#.attn_v", nil},
		{"layers.#.self_attn.o_proj", "blk.#.attn_output", nil},
	}
	pairAttention = with(with(attention, queryPairs, "layers.#.self_attn.q_proj"), keyPairs, "layers.#.self_attn.k_proj")
	ffnNorm       = []name{{"layers.#.post_attention_layernorm", "blk.#.ffn_norm", nil}}
	headNorms     = []name{
		{"layers.#.self_attn.q_norm", "blk.#.attn_q_norm", nil},
		{"layers.#.self_attn.k_norm", "blk.#.attn_k_norm", nil},
	}
	dense = []name{
		{"layers.#.mlp.gate_proj", "blk.#.ffn_gate", nil},
		{"layers.#.mlp.up_proj", "blk.#.ffn_up", nil},
		{"layers.#.mlp.down_proj", "blk.#.ffn_down", nil},
	}
)

// scales and tables that are read with their weights, or made anew.
var unread = []string{".rotary_emb.inv_freq", ".weight_scale", ".weight_scale_inv", ".input_scale", ".activation_scale"}

// places finds where a tensor goes; none and ok: it has no place and needs none.
func (c *config) places(theirs string) (list []place, ok bool) {
	for _, end := range slices.Concat(unread, c.family.unread) {
		if strings.HasSuffix(theirs, end) {
			return nil, true
		}
	}
	for _, start := range c.family.skips {
		if strings.HasPrefix(theirs, start) {
			c.skipped++
			return nil, true
		}
	}
	for _, root := range append(slices.Clone(c.family.rootNames()), "") {
		rest, found := strings.CutPrefix(theirs, root)
		if !found {
			continue
		}
		if c.behind(rest) {
			c.passed++
			return nil, true
		}
		if list = c.family.find(rest, c); list != nil {
			break
		}
	}
	if len(list) == 1 && c.tied && list[0].name == "output.weight" {
		return nil, true
	}
	return list, list != nil
}

func (f *family) rootNames() []string {
	if f.roots == nil {
		return []string{"model."}
	}
	return f.roots
}

// find returns the places of a tensor by the rows of its name.
func (f *family) find(theirs string, c *config) (list []place) {
	pattern, layer, expert, ok := numbered(theirs)
	if !ok || int64(layer) >= c.layers || int64(expert) >= max(c.experts, 1) {
		return nil
	}
	for _, n := range f.names {
		end, ours := "", strings.Replace(n.ours, "#", strconv.Itoa(layer), 1)
		switch pattern {
		case n.theirs + ".weight":
			end = ".weight"
		case n.theirs + ".bias":
			end = ".bias"
		case n.theirs:
			if !strings.HasSuffix(ours, ".weight") && !strings.HasSuffix(ours, ".bias") {
				continue
			}
		default:
			continue
		}
		list = append(list, place{ours + end, expert, n.by})
	}
	return list
}

// behind tells whether a tensor is of a layer behind the last one that is known of.
func (c *config) behind(theirs string) bool {
	rest, ok := strings.CutPrefix(theirs, "layers.")
	layer, _, _ := strings.Cut(rest, ".")
	l, good := number(layer)
	return ok && good && int64(l) >= c.layers && int64(l) < c.layers+c.beyond
}

// numbered puts "#" for the numbers in a name: a layer's, 0 for none, and an expert's,
// -1 for none.
func numbered(s string) (pattern string, layer, expert int, ok bool) {
	parts := strings.Split(s, ".")
	expert = -1
	seen := 0
	for i, p := range parts {
		if p == "" || p[0] < '0' || p[0] > '9' {
			continue
		}
		n, good := number(p)
		if !good || seen == 2 {
			return s, 0, -1, false
		}
		if seen == 0 {
			layer = n
		} else {
			expert = n
		}
		seen++
		parts[i] = "#"
	}
	return strings.Join(parts, "."), layer, expert, true
}

// number reads a number as names have it: no sign, no zeros in front.
func number(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && strconv.FormatUint(n, 10) == s
}

// clip keeps an error short.
func clip(s string) string { return s[:min(len(s), 64)] }
