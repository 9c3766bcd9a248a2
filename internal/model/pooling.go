package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// pooling is how a file says that a sequence's rows become one.
type pooling uint32

const (
	poolNone pooling = iota
	poolMean
	poolCLS
	poolLast
	poolRank // cls or last, then a classifier: a reranker
)

// readPooling reads the kind of pooling; poolNone where a file has none.
func readPooling(k *keys) pooling {
	return pooling(k.countOr("pooling_type", int(poolNone), int64(poolNone), int64(poolRank)))
}

// mustPool is readPooling for models that do nothing else. How a reranker's
// classifier looks is known of those that may rank.
func mustPool(k *keys, mayRank bool) pooling {
	p := readPooling(k)
	if p == poolRank && !mayRank {
		k.fail(k.name("pooling_type"), int(p), "1 (mean), 2 (cls) or 3 (last) for this architecture: its rerankers are not supported", ErrUnsupported)
	}
	if k.err == nil && p == poolNone {
		k.fail(k.name("pooling_type"), int(p), "1 (mean), 2 (cls), 3 (last) or 4 (rank): an encoder's rows have to be pooled", ErrUnsupported)
	}
	return p
}

// kind is the op's.
func (b *builder) kind(p pooling) prog.PoolKind {
	atomic := b.prog.Atomic
	switch {
	case p == poolMean, p == poolRank && b.rankMean:
		return prog.PoolMean
	case p == poolCLS, p == poolRank && atomic:
		return prog.PoolCLS
	}
	return prog.PoolLast
}

// pool ends the program: the rows of h, pooled, then what the file has behind it.
func (b *builder) pool(h prog.BufID, p pooling, s *Spec) {
	out := b.buf("pooled", s.Embd, prog.LogitRows)
	op := prog.Pool{In: h, Out: out, Pool: b.kind(p), KV: -1}
	if op.Pool == prog.PoolMean && !b.prog.Atomic {
		op.KV = len(b.prog.KV)
		b.prog.KV = append(b.prog.KV, prog.StateLayer(s.Embd))
	}
	b.op(op)
	b.emit(out, p, s)
}

// emit hands out pooled rows, or what a classifier or projection makes of them.
func (b *builder) emit(pooled prog.BufID, p pooling, s *Spec) {
	switch {
	case p == poolRank:
		pooled = b.classify(pooled, s)
	case b.has("dense_2.weight"): // products between them and the embedding, one or two
		pooled = b.project(pooled, "dense_2", s.Embd)
		if b.has("dense_3.weight") {
			pooled = b.project(pooled, "dense_3", b.prog.Bufs[pooled].Width)
		}
	}
	b.op(prog.Output{In: pooled})
}

// project multiplies by a matrix with as many rows as the file says.
func (b *builder) project(in prog.BufID, name string, cols int) prog.BufID {
	rows, _, _ := b.file.shape(name + ".weight")
	if rows < 1 || rows > maxWidth {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: name + ".weight", Want: fmt.Sprintf("1 to %d × %d", maxWidth, cols), Got: fmt.Sprintf("%d×…", rows)})
		rows = 1
	}
	out := b.buf(name, int(rows), prog.LogitRows)
	b.op(prog.Linear{In: in, Parts: []prog.LinearPart{{
		Out: out, W: b.matrix(name+".weight", int(rows), cols), Bias: b.optional(name+".bias", int(rows)),
	}}})
	return out
}

// classify is a reranker's head: perhaps a product with tanh behind it (or GELU and
// perhaps a norm), then one product to the scores. A file with neither pools rows that mean nothing.
func (b *builder) classify(in prog.BufID, s *Spec) prog.BufID {
	if b.has("cls.weight") {
		in = b.project(in, "cls", s.Embd)
		act := prog.Tanh
		if b.rankMean {
			act = prog.GELU
		}
		b.op(prog.Activate{In: in, Out: in, Act: act})
		if width := b.prog.Bufs[in].Width; b.rankMean && b.has("cls.norm.weight") {
			b.op(prog.Norm{In: in, Out: in, Add: prog.NoBuf, W: b.vector("cls.norm.weight", width), Bias: prog.NoWeight, Norm: prog.LayerNorm, Eps: s.Eps})
		}
	}
	return b.project(in, "cls.output", b.prog.Bufs[in].Width)
}

// readDecoderPooling is readPooling for models whose rows see what is before them
// alone. The first row sees only itself.
func readDecoderPooling(k *keys) pooling {
	p := readPooling(k)
	if p == poolCLS || p == poolRank {
		k.fail(k.name("pooling_type"), int(p), "0 (none), 1 (mean) or 3 (last) for a model whose rows see only what is before them", ErrUnsupported)
	}
	if causal, err := k.file.BoolOr(k.name("attention.causal"), true); err != nil || !causal {
		k.fail(k.name("attention.causal"), causal, "true for this architecture", ErrUnsupported)
	}
	return p
}

// poolDecoder ends a decoder's program in pooled rows: for the mean h has a row
// for each token, for the last one those that are wanted alone.
func (b *builder) poolDecoder(h prog.BufID, p pooling, s *Spec) {
	b.faced["output.weight"], b.faced["output.bias"] = true, true // what generates is not used
	if p == poolMean {
		b.pool(h, p, s)
		return
	}
	b.emit(h, p, s)
}
