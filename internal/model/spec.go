package model

import (
	"fmt"
	"math"
)

const (
	maxLayers  = 1 << 12
	maxWidth   = 1 << 24
	maxHeads   = 1 << 12
	maxHeadDim = 1 << 12
)

// Spec is what a decoder's metadata says, checked against bounds and against
// the tensors. It is plain data.
type Spec struct {
	Arch     string
	Name     string // general.name, may be empty
	Layers   int
	Embd     int // width of the residual stream
	FFN      int // width between gate and down
	Heads    int // query heads
	KVHeads  int // key-value heads; divides Heads
	HeadDim  int // of queries and keys
	ValueDim int // of values
	Vocab    int
	Context  int // longest context in tokens that the file states
	Eps      float32
	Tied     bool   // the output matrix is the embedding
	Ranks    bool   // the model gives scores of a reranker
	Rope     string // how rotary positions are stretched to the context; "": as trained, or there are none
	RopeWhy  string // what decided that
	Without  []bool // layer → it has no attention; nil: all have
}

// readSpec reads and checks a decoder's sizes, eps being the key of what its norms
// add. They are not yet known to agree with the tensors; nothing may be allocated
// by them.
func readSpec(k *keys, eps string) *Spec {
	s := &Spec{Arch: k.arch, Name: k.text("general.name")}
	s.Context = k.count("context_length", 1, math.MaxInt32)
	s.Layers = k.count("block_count", 1, maxLayers)
	s.Embd = k.count("embedding_length", 1, maxWidth)
	s.FFN = k.same("feed_forward_length", s.Layers, 1, maxWidth)
	s.Heads = k.same("attention.head_count", s.Layers, 1, maxHeads)
	s.KVHeads, s.Without = k.kvHeads(s.Heads, s.Layers)
	s.Eps = k.positive(eps)
	k.refuse("nextn_predict_layers", "0 (layers that predict further tokens are not supported)")
	if k.err != nil {
		return s
	}
	if s.Heads%s.KVHeads != 0 {
		k.fail(k.name("attention.head_count"), s.Heads, fmt.Sprintf("a multiple of head_count_kv, which is %d", s.KVHeads), nil)
	}
	if k.has("attention.key_length") {
		s.HeadDim = k.count("attention.key_length", 1, maxHeadDim)
	} else {
		if s.Embd%s.Heads != 0 {
			k.fail(k.name("embedding_length"), s.Embd, fmt.Sprintf("a multiple of head_count, which is %d, where there is no key_length", s.Heads), nil)
		}
		s.HeadDim = s.Embd / s.Heads
	}
	s.ValueDim = k.countOr("attention.value_length", s.HeadDim, 1, maxHeadDim)
	if tensors := len(k.file.Tensors); s.Layers > tensors {
		k.fail(k.name("block_count"), s.Layers, fmt.Sprintf("at most the number of tensors, %d", tensors), nil)
	}
	s.readVocab(k)
	return s
}

// readVocab takes the vocabulary's size from the embedding, which is what the
// program works with, and holds the metadata against it.
func (s *Spec) readVocab(k *keys) {
	const embedding = "token_embd.weight"
	rows, _, ok := k.file.shape(embedding)
	if !ok {
		if k.err == nil {
			k.err = &TensorError{Arch: k.arch, Tensor: embedding, Want: fmt.Sprintf("vocabulary × %d", s.Embd)}
		}
		return
	}
	if rows > maxWidth {
		k.fail("rows of "+embedding, rows, fmt.Sprintf("at most %d", maxWidth), nil)
		return
	}
	s.Vocab = int(rows)
	if v := k.countOr("vocab_size", s.Vocab, 0, math.MaxUint32); k.err == nil && v != s.Vocab {
		k.fail(k.name("vocab_size"), v, fmt.Sprintf("the rows of %s, %d", embedding, s.Vocab), nil)
	}
	_, _, output := k.file.shape("output.weight")
	s.Tied = !output
}
