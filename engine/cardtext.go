package engine

import (
	"fmt"
	"strings"
)

// String writes the card as a block of lines, the widest of about 120 letters but
// for reasons.
func (c Card) String() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s  %s\n", label, fmt.Sprintf(format, args...))
	}
	params := count(c.Params)
	if c.ActiveParams != c.Params {
		params += fmt.Sprintf(", %s of them a token's", count(c.ActiveParams))
	}
	title := ""
	if c.Title != "" && c.Title != c.Name {
		title = fmt.Sprintf(" (%q)", c.Title)
	}
	line("model", "%s%s: %s %s, %s parameters", c.Name, title, c.Arch, c.Size, params)
	line("file", "%s, %s", c.File, size(c.File.Bytes))
	d := c.Dims
	dims := fmt.Sprintf("%d layers of %d, %d heads of %d, %d of keys and values, feed-forward %d", d.Layers, d.Embd, d.Heads, d.HeadDim, d.KVHeads, d.FFN)
	if d.Experts > 0 {
		dims += fmt.Sprintf(", %d of %d experts", d.Used, d.Experts)
	}
	if d.Window > 0 {
		dims += fmt.Sprintf(", windows of %d", d.Window)
	}
	line("sizes", "%s", dims)
	context := fmt.Sprintf("%d tokens (%s)", c.Context, c.ContextWhy)
	if c.Context != c.FileContext {
		context += fmt.Sprintf("; the file's is %d", c.FileContext)
	}
	line("context", "%s", context)
	text := "no tokenizer: requests bring tokens"
	if c.Tokenizer != "" {
		text = c.Tokenizer
	}
	if c.Template {
		text += ", chat template"
	}
	line("text", "%d tokens, %s", c.Vocab, text)
	serves := make([]string, len(c.Serves))
	for i, s := range c.Serves {
		serves[i] = s.String()
	}
	line("serves", "%s", strings.Join(serves, ", "))
	for i, f := range c.Formats {
		label := "weights"
		if i > 0 {
			label = ""
		}
		line(label, "%-7s %5d tensors  %10s in the file  %10s in memory", f.Format, f.Tensors, size(f.FileBytes), size(f.MemoryBytes))
	}
	mapped := ""
	if c.Memory.Mapped > 0 {
		mapped = fmt.Sprintf(" (%s of them mapped from a file)", size(c.Memory.Mapped))
	}
	line("memory", "weights %s%s, KV cache %s, scratch %s", size(c.Memory.Weights), mapped, size(c.Memory.KV), size(c.Memory.Scratch))
	line("KV cache", "%d pages of %d tokens, %s a token in %v%s", c.KV.Pages, c.KV.PageTokens, size(c.KV.PerToken), c.KV.Type, c.KV.groups())
	for _, x := range c.Choices {
		if x.What == "context" {
			continue // that has its line
		}
		line(x.What, "%s: %s", x.Choice, x.Why)
	}
	for _, n := range c.Notes {
		line("note", "%s", n)
	}
	return b.String()
}

// String names the kind of file.
func (f FileCard) String() string {
	if f.Parts > 1 {
		return fmt.Sprintf("%s in %d parts", f.Kind, f.Parts)
	}
	return f.Kind
}

// groups writes the cache's groups where there is more than one.
func (k KVCard) groups() string {
	if len(k.Groups) < 2 {
		return ""
	}
	var parts []string
	for _, g := range k.Groups {
		s := fmt.Sprintf("%s in %d layers", size(g.PerToken), g.Layers)
		if g.Window > 0 {
			s += fmt.Sprintf(" with windows of %d", g.Window)
		}
		parts = append(parts, s)
	}
	return ": " + strings.Join(parts, ", ")
}

// count writes a number with its thousands apart.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// label is about how many parameters, as people say it.
func label(n int64) string {
	for _, u := range []struct {
		unit int64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n < u.unit {
			continue
		}
		x := float64(n) / float64(u.unit)
		if x < 9.95 {
			return fmt.Sprintf("%.1f%s", x, u.name)
		}
		return fmt.Sprintf("%.0f%s", x, u.name)
	}
	return fmt.Sprint(n)
}
