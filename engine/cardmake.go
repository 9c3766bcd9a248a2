package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// cardOf describes a model that is about to be loaded.
func (e *Engine) cardOf(f *gguf.File, m *model.Model, device Device, plan backend.Plan, r *room, o Options, from origin) Card {
	s, p := m.Spec, m.Program
	c := Card{
		Name: e.name, Arch: s.Arch, Title: s.Name,
		File:        FileCard{Kind: from.kind, Parts: f.Parts(), Bytes: int64(f.Size())},
		FileContext: s.Context, Context: e.context, ContextWhy: r.contextWhy,
		Notes: from.notes, Vocab: e.vocab, Template: e.tmpl != nil, Serves: e.serves(),
		Dims:   Dims{Layers: s.Layers, Embd: s.Embd, Heads: s.Heads, KVHeads: s.KVHeads, HeadDim: s.HeadDim, ValueDim: s.ValueDim, FFN: s.FFN},
		Memory: MemoryCard{Weights: r.weights, KV: r.kv, Scratch: r.scratch, Load: r.load},
	}
	if r.known {
		c.Memory.Available = r.available
	}
	if e.tok != nil {
		c.Tokenizer = from.text.vocab.Kind()
	}
	c.weigh(f, p, plan)
	c.addExperts(p)
	c.addKV(p, r)
	c.Size = label(c.Params)
	c.choose(device, s, r, o, from)
	return c
}

// weigh counts the tensors that the program works with, and sorts them by format.
func (c *Card) weigh(f *gguf.File, p *prog.Program, plan backend.Plan) {
	seen := map[string]bool{}
	byFormat := map[string]*FormatCard{}
	for i, w := range p.Weights {
		t, ok := f.Tensor(w.Tensor)
		if !ok {
			continue // no plan would have been made
		}
		name := quant.Type(t.Type).String()
		row := byFormat[name]
		if row == nil {
			row = &FormatCard{Format: name}
			byFormat[name] = row
		}
		row.MemoryBytes += plan.WeightSize(prog.WeightID(i))
		if !seen[w.Tensor] {
			seen[w.Tensor] = true
			row.Tensors++
			row.FileBytes += int64(t.Size)
			c.Params += int64(t.Elems())
		}
	}
	for _, row := range byFormat {
		c.Formats = append(c.Formats, *row)
	}
	slices.SortFunc(c.Formats, func(a, b FormatCard) int {
		return cmp.Or(cmp.Compare(b.MemoryBytes, a.MemoryBytes), cmp.Compare(a.Format, b.Format))
	})
	c.ActiveParams = c.Params
}

// addExperts takes off what a token does not go through.
func (c *Card) addExperts(p *prog.Program) {
	for _, op := range p.Ops {
		o, ok := op.(prog.Experts)
		if !ok {
			continue
		}
		used, all := p.Bufs[o.Ids].Width, p.Weights[o.Gate].Stack
		c.Dims.Experts, c.Dims.Used = max(c.Dims.Experts, all), max(c.Dims.Used, used)
		for _, id := range []prog.WeightID{o.Gate, o.Up, o.Down, o.GateBias, o.UpBias, o.DownBias} {
			if id == prog.NoWeight {
				continue
			}
			w := p.Weights[id]
			c.ActiveParams -= int64(all-used) * int64(w.Rows) * int64(w.Cols)
		}
	}
}

// addKV groups the cache's layers by shape and window.
func (c *Card) addKV(p *prog.Program, r *room) {
	c.KV = KVCard{Type: r.limits.KVType, Pages: r.limits.Pages, PageTokens: r.limits.PageSize, TotalTokens: r.limits.Pages * r.limits.PageSize}
	var shapes []prog.KVLayer
	for layer, l := range p.KV {
		i := slices.Index(shapes, l)
		if i < 0 {
			i = len(shapes)
			shapes = append(shapes, l)
			c.KV.Groups = append(c.KV.Groups, KVGroup{Window: l.Window})
		}
		n := r.limits.KVType.LayerBytes(p, layer)
		c.KV.Groups[i].Layers++
		c.KV.Groups[i].PerToken += n
		c.KV.PerToken += n
	}
	for _, op := range p.Ops { // an encoder's layers have no groups
		if a, ok := op.(prog.Attend); ok {
			c.Dims.Window = max(c.Dims.Window, a.Window)
		}
	}
}

// choose lists what was chosen, with reasons.
func (c *Card) choose(device Device, s model.Spec, r *room, o Options, from origin) {
	add := func(what, choice, why string) { c.Choices = append(c.Choices, Choice{what, choice, why}) }
	l := r.limits
	add("device", device.Name(), from.device)
	if d, ok := device.(interface{ Threads() int }); ok {
		why := "the processors that the process may use"
		if o.Threads > 0 {
			why = "Options.Threads"
		}
		add("threads", fmt.Sprint(d.Threads()), why)
	}
	add("formats", from.weights, from.weightsWhy)
	add("context", fmt.Sprint(c.Context), c.ContextWhy)
	if s.Rope != "" {
		add("rotation", s.Rope, s.RopeWhy)
	}
	why := "Options.KVType, which is KVF16 unless set"
	if l.KVType != o.KVType {
		why = "nothing is kept from one step to the next, and what is used within one stays as computed"
	}
	add("KV type", l.KVType.String(), why)
	add("KV pages", fmt.Sprint(l.Pages), r.pagesWhy)
	limit := "Limits"
	switch {
	case o.Scheduler != nil:
		limit = "the Scheduler's Limits"
	case o.Limits.MaxSequences == 0 && o.Limits.MaxTokens == 0:
		limit = "the defaults of Limits"
	}
	add("a step", fmt.Sprintf("%d sequences, %d tokens", l.Seqs, l.Rows), limit)
	if n := o.Spec.NGram; n > 0 {
		add("drafts", fmt.Sprintf("at most %d tokens", n), "Options.Spec.NGram")
	} else {
		add("drafts", "none", "Options.Spec is off")
	}
}

// addCache adds what became of the panel cache.
func (c *Card) addCache(loaded backend.Model) {
	if m, ok := loaded.(backend.PanelCached); ok {
		c.Memory.Mapped = m.MappedBytes()
		if choice, why := m.PanelCache(); choice != "" {
			c.Choices = append(c.Choices, Choice{"panels", choice, "Options.PanelCache: " + why})
		}
	}
}

// origin is what a model was read from.
type origin struct {
	kind                string // of file
	weights, weightsWhy string
	device              string // why it is the one
	text                *text
	notes               []string // what of a folder is left out or cut
}
