package hf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/safetensors"
)

// tensor is one that is made of the folder's: of one, or of one an expert.
type tensor struct {
	parts   []part
	stacked bool       // by expert, a further dimension
	shape   []int      // of a part, outermost first
	by      *transform // nil: parts are what they are
	to      quant.Type
	values  []float32 // instead of parts: made of the config
}

// part is a tensor of the folder.
type part struct {
	name  string
	typ   safetensors.Type
	shape []int
	scale *scale // nil: the values are what they are

	expert int // whose it is; -1: it is no expert's

	set    *safetensors.Set
	scales string // the tensor of an MXFP4's scales
}

// types are the types of weights and how each is kept.
var types = map[safetensors.Type]quant.Type{
	safetensors.F32: quant.F32, safetensors.F16: quant.F16, safetensors.BF16: quant.BF16, safetensors.F8E4M3: quant.F32, mxfp4: quant.MXFP4,
}

const (
	maxExperts = 1 << 12
	maxLayers  = 1 << 12
	maxDims    = 3
)

// plan says of which tensors of the set each one here is made.
func plan(sets []*safetensors.Set, c *config, h *header, o Options) (*weights, error) {
	set := sets[0]
	w := &weights{sets: sets, tensors: map[string]*tensor{}, config: c}
	for _, theirs := range set.Names() {
		if void, err := c.void(set, theirs); err != nil {
			return nil, err
		} else if void {
			continue
		}
		places, ok := c.places(theirs)
		if !ok {
			return nil, refuse(theirs, "a tensor that "+c.family.class+" does not have")
		}
		for _, p := range places {
			if err := w.add(p, set, theirs); err != nil {
				return nil, err
			}
		}
	}
	for i, s := range sets[1:] {
		for _, theirs := range s.Names() {
			end, ok := strings.CutPrefix(theirs, "linear.")
			if !ok || end != "weight" && end != "bias" {
				return nil, &Error{File: c.modules.dense[i] + "/*.safetensors", Key: clip(theirs), What: "a tensor that a module Dense does not have"}
			}
			if err := w.add(place{name: fmt.Sprintf("dense_%d.%s", i+2, end), expert: -1}, s, theirs); err != nil {
				return nil, err
			}
		}
	}
	if c.skipped > 0 {
		c.note(fmt.Sprintf("%d tensors of %s are left out: the text model alone is supported", c.skipped, strings.Join(c.family.skips, ", ")))
	}
	if c.passed > 0 {
		c.note(fmt.Sprintf("%d tensors of %d layers behind num_hidden_layers are left out: several tokens at once are not predicted", c.passed, c.beyond))
	}
	if w.tensors["output.weight"] == nil && !c.tied && c.pooled == 0 {
		return nil, refuse("lm_head.weight", "not there, and tie_word_embeddings is not true")
	}
	for _, m := range h.made {
		w.tensors[m.name] = &tensor{shape: []int{len(m.values)}, to: quant.F32, values: m.values}
	}
	for name, t := range w.tensors {
		w.names = append(w.names, name)
		if err := t.whole(name, c.experts); err != nil {
			return nil, err
		}
		if o.Q8_0 && t.to != quant.MXFP4 && t.cols()%32 == 0 && !t.exact(name) {
			t.to = quant.Q8_0
		}
	}
	slices.Sort(w.names)
	return w, nil
}

// exactNames are kept as F32 beside vectors: the routers of experts, whose choices
// must not turn with a rounding, and small tables that are no product's matrix.
var exactNames = []string{"ffn_gate_inp", "position_embd", "token_types", "shortconv.conv"}

// exact tells whether a tensor is kept as F32.
func (t *tensor) exact(name string) bool {
	return len(t.shape) == 1 || strings.HasSuffix(name, ".bias") || slices.ContainsFunc(exactNames, func(s string) bool { return strings.Contains(name, s) })
}

// cols is the contiguous dimension.
func (t *tensor) cols() int { return t.shape[len(t.shape)-1] }

// find describes a tensor of a set.
func (w *weights) find(set *safetensors.Set, theirs string) (p part, err error) {
	src, _ := set.Tensor(theirs)
	_, ok := types[src.Type]
	switch n := len(src.Shape); {
	case src.Elems() == 0 || n < 1 || n > maxDims+1 || slices.Max(src.Shape) > 1<<30:
		return p, refuse(theirs, fmt.Sprintf("has shape %v; 1 to %d dimensions, none of them 0, are what weights have", src.Shape, maxDims))
	case src.Type == "U8":
		p, err = pairOfMXFP4(set, theirs, src.Shape)
	case !ok:
		err = &Error{File: "*.safetensors", Key: clip(theirs), What: fmt.Sprintf("has type %s; F32, F16, BF16 and F8_E4M3 are supported", src.Type), Err: ErrUnsupported}
	case n > maxDims:
		err = refuse(theirs, fmt.Sprintf("has shape %v; 1 to %d dimensions are what weights have", src.Shape, maxDims))
	default:
		p = part{name: theirs, typ: src.Type}
		for _, n := range src.Shape {
			p.shape = append(p.shape, int(n))
		}
	}
	if p.set = set; err == nil && src.Type == safetensors.F8E4M3 {
		p.scale, err = readScale(set, theirs, p.shape, w.config)
	}
	return p, err
}

// add takes a tensor of a set into the one here that it is a part of.
func (w *weights) add(at place, set *safetensors.Set, theirs string) error {
	p, err := w.find(set, theirs)
	if err != nil {
		return err
	}
	p.expert = at.expert
	t := &tensor{to: types[p.typ], shape: p.shape, by: at.by, stacked: at.expert >= 0}
	if at.by != nil && at.by.shape != nil {
		if t.shape, err = at.by.shape(w.config, p.shape); err != nil {
			return refuse(theirs, err.Error())
		}
	}
	if len(t.shape) > 2 && w.config.experts == 0 {
		return refuse(theirs, fmt.Sprintf("has shape %v; one or two dimensions are what weights have", p.shape))
	}
	if t.exact(at.name) {
		t.to = quant.F32
	}
	if was := w.tensors[at.name]; was == nil {
		w.tensors[at.name] = t
	} else {
		if !slices.Equal(was.shape, t.shape) || was.to != t.to || was.stacked != t.stacked {
			return refuse(theirs, fmt.Sprintf("%v as %v, another expert is %v as %v", t.shape, t.to, was.shape, was.to))
		}
		t = was
	}
	if !t.stacked && len(t.parts) > 0 {
		return refuse(theirs, clip(t.parts[0].name)+" is the same tensor")
	}
	t.parts = append(t.parts, p)
	return nil
}

// whole puts the parts of a stack in order, and refuses one that lacks an expert or has
// it twice. There is one part for each tensor of the folder and no place for others: the
// config says how many experts there are, and may lie.
func (t *tensor) whole(name string, experts int64) error {
	if !t.stacked {
		return nil
	}
	slices.SortStableFunc(t.parts, func(a, b part) int { return a.expert - b.expert })
	for e := range int(experts) {
		switch {
		case e >= len(t.parts) || t.parts[e].expert > e:
			return refuse(name, fmt.Sprintf("expert %d of %d is missing", e, experts))
		case t.parts[e].expert < e:
			return refuse(t.parts[e].name, clip(t.parts[e-1].name)+" is the same tensor")
		}
	}
	if len(t.parts) > int(experts) {
		return refuse(t.parts[experts].name, clip(t.parts[experts-1].name)+" is the same tensor")
	}
	return nil
}

// refuse is a fault of a tensor.
func refuse(tensor, what string) error {
	return &Error{File: "*.safetensors", Key: clip(tensor), What: what}
}

// list describes the tensors as a GGUF file does: the contiguous dimension first.
func (w *weights) list() []ggufwrite.Tensor {
	list := make([]ggufwrite.Tensor, 0, len(w.names))
	for _, name := range w.names {
		t := w.tensors[name]
		var dims []uint64
		for _, n := range slices.Backward(t.shape) {
			dims = append(dims, uint64(n))
		}
		if t.stacked {
			dims = append(dims, uint64(len(t.parts)))
		}
		list = append(list, ggufwrite.Tensor{Name: name, Type: uint32(t.to), Dims: dims})
	}
	return list
}
