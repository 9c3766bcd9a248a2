package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// builder collects a program while an architecture lowers itself. The first
// fault sticks; what is built after it is never looked at.
type builder struct {
	file  file
	prog  *prog.Program
	used  map[cutKey]prog.WeightID
	faced map[string]bool // tensors that the lowering has read or knowingly ignores
	err   error

	rankMean bool // rerankers take the mean of all rows, and GELU, not the first row and tanh
}

func newBuilder(f file, arch string) *builder {
	return &builder{file: f, prog: &prog.Program{Arch: arch}, used: map[cutKey]prog.WeightID{}, faced: map[string]bool{}}
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) buf(name string, width int, rows prog.RowKind) prog.BufID {
	b.prog.Bufs = append(b.prog.Bufs, prog.Buffer{Name: name, Width: width, Rows: rows})
	return prog.BufID(len(b.prog.Bufs) - 1)
}

func (b *builder) op(o prog.Op) { b.prog.Ops = append(b.prog.Ops, o) }

// has tells whether the file holds a tensor.
func (b *builder) has(name string) bool {
	_, _, ok := b.file.shape(name)
	return ok
}

// matrix adds a weight of rows×cols.
func (b *builder) matrix(name string, rows, cols int) prog.WeightID {
	return b.weight(prog.Weight{Tensor: name, Kind: prog.Matrix, Rows: rows, Cols: cols})
}

// vector adds a weight of n values.
func (b *builder) vector(name string, n int) prog.WeightID {
	return b.weight(prog.Weight{Tensor: name, Kind: prog.Vector, Rows: 1, Cols: n})
}

// optional is vector, or NoWeight where the file has no such tensor.
func (b *builder) optional(name string, n int) prog.WeightID {
	if !b.has(name) {
		return prog.NoWeight
	}
	return b.vector(name, n)
}

// slice adds rows from..from+rows of a tensor of all rows: one matrix of a fused
// tensor.
func (b *builder) slice(name string, from, rows, all, cols int) prog.WeightID {
	return b.cut(prog.Weight{Tensor: name, Kind: prog.Matrix, Rows: rows, Cols: cols, FromRow: from}, all)
}

// cutKey is a part of a tensor.
type cutKey struct {
	tensor string
	from   int
}

// weight adds w once: a tied embedding is one weight that two ops name.
func (b *builder) weight(w prog.Weight) prog.WeightID { return b.cut(w, w.Rows) }

// cut is weight for a part of a tensor that has all rows, or all values where it
// is a vector.
func (b *builder) cut(w prog.Weight, all int) prog.WeightID {
	key := cutKey{w.Tensor, w.FromRow}
	if id, ok := b.used[key]; ok {
		return id
	}
	if w.Kind == prog.Vector {
		b.face(w.Tensor, 1, max(all, w.Cols))
	} else {
		b.face(w.Tensor, all, w.Cols)
	}
	id := prog.WeightID(len(b.prog.Weights))
	b.prog.Weights = append(b.prog.Weights, w)
	b.used[key] = id
	return id
}

// face checks that a tensor is there with the shape that the metadata says.
func (b *builder) face(name string, rows, cols int) {
	b.faced[name] = true
	r, c, ok := b.file.shape(name)
	if !ok {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: name, Want: fmt.Sprintf("%d×%d", rows, cols)})
	} else if r != int64(rows) || c != int64(cols) {
		b.fail(&TensorError{Arch: b.prog.Arch, Tensor: name, Want: fmt.Sprintf("%d×%d", rows, cols), Got: fmt.Sprintf("%d×%d", r, c)})
	}
}

// prove holds the first layer's queries against heads × head dim, so that
// nothing that is made by the metadata is larger than what the file really holds.
func (b *builder) prove(s *Spec) {
	if b.has("blk.0.attn_qkv.weight") {
		b.face("blk.0.attn_qkv.weight", s.Heads*s.HeadDim+s.KVHeads*(s.HeadDim+s.ValueDim), s.Embd)
		return
	}
	b.face("blk.0.attn_q.weight", s.Heads*s.HeadDim, s.Embd)
}

// strangers fails on a tensor that the lowering did not use: a variant of the
// architecture that would be computed wrongly without a word.
func (b *builder) strangers() {
	if b.err != nil {
		return
	}
	for _, t := range b.file.Tensors {
		if !b.faced[t.Name] {
			b.fail(&TensorError{Arch: b.prog.Arch, Tensor: t.Name, Got: "a tensor that this architecture does not have"})
			return
		}
	}
}
