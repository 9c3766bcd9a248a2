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
	parts      []part
	heads      int // its rows are so many heads' whose halves become neighbours; 0: they stay
	vector     bool
	rows, cols int // of a part
	to         quant.Type
}

// part is a tensor of the folder.
type part struct {
	name  string // "": not found so far
	typ   safetensors.Type
	scale *scale // nil: the values are what they are
}

// types are the types of weights and how each is kept.
var types = map[safetensors.Type]quant.Type{
	safetensors.F32: quant.F32, safetensors.F16: quant.F16, safetensors.BF16: quant.BF16, safetensors.F8E4M3: quant.F32,
}

const maxExperts = 1 << 12

// plan says of which tensors of the set each one here is made.
func plan(set *safetensors.Set, c *config, o Options) (*weights, error) {
	w := &weights{set: set, tensors: map[string]*tensor{}}
	if c.experts() > maxExperts {
		return nil, c.refuse("num_experts", fmt.Sprintf("is %d, at most %d", c.experts(), maxExperts), nil)
	}
	for _, theirs := range set.Names() {
		p, skip, ok := c.place(theirs)
		if !ok {
			return nil, refuse(theirs, "a tensor that "+c.family.class+" does not have")
		}
		if skip {
			continue
		}
		if err := w.add(p, theirs, c); err != nil {
			return nil, err
		}
	}
	if w.tensors["output.weight"] == nil && !c.Tied {
		return nil, refuse("lm_head.weight", "not there, and tie_word_embeddings is not true")
	}
	var err error
	if w.factors, err = c.factors(); err != nil {
		return nil, err
	}
	for name, t := range w.tensors {
		w.names = append(w.names, name)
		for e, p := range t.parts {
			if p.name == "" {
				return nil, refuse(name, fmt.Sprintf("expert %d of %d is missing", e, len(t.parts)))
			}
		}
		if o.Q8_0 && t.cols%32 == 0 && !t.exact(name) {
			t.to = quant.Q8_0
		}
	}
	slices.Sort(w.names)
	return w, nil
}

// exact tells whether a tensor is kept as F32: vectors, and the routers of experts,
// whose choices must not turn with a rounding.
func (t *tensor) exact(name string) bool { return t.vector || strings.Contains(name, "ffn_gate_inp") }

// add takes a tensor of the folder into the one here that it is a part of.
func (w *weights) add(at place, theirs string, c *config) error {
	src, _ := w.set.Tensor(theirs)
	to, ok := types[src.Type]
	if !ok {
		return &Error{File: "*.safetensors", Key: clip(theirs), What: fmt.Sprintf("has type %s; F32, F16, BF16 and F8_E4M3 are supported", src.Type), Err: ErrUnsupported}
	}
	t := &tensor{to: to}
	switch shape := src.Shape; {
	case src.Elems() == 0 || len(shape) < 1 || len(shape) > 2 || slices.Max(shape) > 1<<30:
		return refuse(theirs, fmt.Sprintf("has shape %v; one or two dimensions, none of them 0, are what weights have", shape))
	case len(shape) == 1:
		t.vector, t.rows, t.cols = true, 1, int(shape[0])
	default:
		t.rows, t.cols = int(shape[0]), int(shape[1])
		t.vector = t.rows == 1 && strings.HasSuffix(at.name, ".ffn_gate_inp_shexp.weight") // as GGUF files have it
	}
	if t.exact(at.name) {
		t.to = quant.F32
	}
	switch at.rotate {
	case queries:
		t.heads = int(c.Heads)
	case keys:
		t.heads = int(or(c.KVHeads, c.Heads))
	}
	if n := t.length(); t.heads > 0 && (n%t.heads != 0 || n/t.heads%2 != 0) {
		return refuse(theirs, fmt.Sprintf("%d rows, not %d heads of an even width", n, t.heads))
	}
	p := part{name: theirs, typ: src.Type}
	if src.Type == safetensors.F8E4M3 {
		var err error
		if p.scale, err = readScale(w.set, theirs, t.rows, t.cols, c); err != nil {
			return err
		}
	}
	t.parts = make([]part, 1)
	if at.expert >= 0 {
		t.parts = make([]part, c.experts())
	}
	if was := w.tensors[at.name]; was == nil {
		w.tensors[at.name] = t
	} else {
		if was.rows != t.rows || was.cols != t.cols || was.to != t.to || len(was.parts) != len(t.parts) {
			return refuse(theirs, fmt.Sprintf("%d×%d as %v, another expert is %d×%d as %v", t.rows, t.cols, t.to, was.rows, was.cols, was.to))
		}
		t = was
	}
	t.parts[max(at.expert, 0)] = p
	return nil
}

// length is the number of rows, or of values where each is a row's.
func (t *tensor) length() int {
	if t.vector {
		return t.cols
	}
	return t.rows
}

// refuse is a fault of a tensor.
func refuse(tensor, what string) error {
	return &Error{File: "*.safetensors", Key: clip(tensor), What: what}
}

// list describes the tensors as a GGUF file does: the contiguous dimension first.
func (w *weights) list() []ggufwrite.Tensor {
	list := make([]ggufwrite.Tensor, 0, len(w.names)+1)
	for _, name := range w.names {
		t := w.tensors[name]
		dims := []uint64{uint64(t.cols)}
		if !t.vector {
			dims = append(dims, uint64(t.rows))
		}
		if strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".weight"), ".bias"), "_exps") {
			dims = append(dims, uint64(len(t.parts)))
		}
		list = append(list, ggufwrite.Tensor{Name: name, Type: uint32(t.to), Dims: dims})
	}
	if w.factors != nil {
		list = append(list, ggufwrite.Tensor{Name: factorsName, Type: uint32(quant.F32), Dims: []uint64{uint64(len(w.factors))}})
	}
	return list
}
