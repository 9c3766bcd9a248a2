package session

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/prog"
)

// reads is what a step can't do without reading.
type reads struct {
	weights int64 // of the matrices that every row is multiplied by, as the file has them
	experts []expertReads
	kv      []prog.KVLayer
	token   []int64 // bytes of a token in each layer's cache
}

// expertReads is a layer of which a row reads a part.
type expertReads struct {
	bytes     int64 // of all
	used, all int
}

func newReads(f *gguf.File, p *prog.Program, kv backend.KVType) *reads {
	r := &reads{kv: p.KV}
	for l := range p.KV {
		r.token = append(r.token, kv.LayerBytes(p, l))
	}
	size := model.WeightBytes(f)
	for _, op := range p.Ops {
		switch o := op.(type) {
		case prog.Linear:
			for _, part := range o.Parts {
				r.weights += size(p.Weights[part.W])
			}
		case prog.Head:
			r.weights += size(p.Weights[o.W])
		case prog.HeadLinear:
			r.weights += size(p.Weights[o.W])
		case prog.Experts:
			x := expertReads{used: p.Bufs[o.Ids].Width, all: p.Weights[o.Gate].Stack}
			for _, id := range []prog.WeightID{o.Gate, o.Up, o.Down} {
				x.bytes += size(p.Weights[id])
			}
			r.experts = append(r.experts, x)
		}
	}
	return r
}

// step is the bytes for one row of each of so many sequences that have context tokens
// in the cache.
func (r *reads) step(seqs, context int) int64 {
	n := r.weights
	for _, x := range r.experts {
		n += x.bytes * int64(min(seqs*x.used, x.all)) / int64(x.all)
	}
	for i, l := range r.kv {
		seen := context
		if l.Window > 0 {
			seen = min(seen, l.Window)
		}
		n += int64(seqs*seen) * r.token[i]
	}
	return n
}

// StepBytes is the least that a step must read which makes seqs sequences of context
// tokens one longer, each: all weights that rows are multiplied by, once, in the file's
// format, and the keys and values of every sequence.
func (s *Session) StepBytes(seqs, context int) int64 {
	return s.reads.step(seqs, context)
}
