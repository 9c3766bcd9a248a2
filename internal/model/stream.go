package model

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
)

// stream writes a decoder's layers along the residual stream: first one row a
// token, after take one row for each row that wants logits.
type stream struct {
	*traits
	b     *builder
	d     *decoder
	ropes [2]prog.Rope // of layers that see all, of windowed ones

	rows    prog.RowKind
	bufs    map[string]prog.BufID // those of rows, by name
	x       prog.BufID            // the residual stream
	att     prog.BufID            // what the attention gave
	pending prog.BufID            // what the next norm adds to x, or NoBuf
}

func newStream(b *builder, d *decoder, t *traits) *stream {
	w := &stream{traits: t, b: b, d: d, rows: prog.TokenRows, bufs: map[string]prog.BufID{}, att: prog.NoBuf, pending: prog.NoBuf}
	w.x = w.buf("x", t.Embd)
	return w
}

// prove is the builder's, of architectures with the usual attention.
func (w *stream) prove() {
	if w.d.attend == nil {
		w.b.prove(w.Spec)
	}
}

// name is the full name of a part of layer l.
func (w *stream) name(l int, part string) string { return fmt.Sprintf("blk.%d.%s", l, part) }

// buf is the buffer of a name, one for all layers, with the stream's kind of rows.
func (w *stream) buf(name string, width int) prog.BufID {
	id, ok := w.bufs[name]
	if !ok {
		suffix := ""
		if w.rows == prog.LogitRows {
			suffix = ".out"
		}
		id = w.b.buf(name+suffix, width, w.rows)
		w.bufs[name] = id
	}
	return id
}

// take moves the stream, and what is yet to be used of the layer, to the rows that
// want logits. It returns what in, the layer's input, has become.
func (w *stream) take(in prog.BufID) prog.BufID {
	from := *w
	w.rows, w.bufs = prog.LogitRows, map[string]prog.BufID{}
	move := func(id prog.BufID) prog.BufID {
		old := w.b.prog.Bufs[id]
		out := w.buf(old.Name, old.Width)
		w.b.op(prog.TakeRows{In: id, Out: out})
		return out
	}
	w.att = move(from.att)
	w.x = move(from.x)
	if w.pending != prog.NoBuf {
		w.pending = move(from.pending)
	}
	if !w.d.parallel {
		return prog.NoBuf // the feed-forward has an input of its own
	}
	return move(in)
}

// input is what attention or feed-forward of layer l takes: the stream through
// the norm of that name, or as it is where norms stand after.
func (w *stream) input(l int, norm string) prog.BufID {
	if w.d.norms == after {
		w.settle()
		return w.x
	}
	return w.normed(w.name(l, norm))
}

// normed adds what is pending to the stream and normalises it.
func (w *stream) normed(name string) prog.BufID {
	h := w.buf("h", w.Embd)
	n := w.normOp(name, w.x, h, w.Embd)
	n.Add, w.pending = w.pending, prog.NoBuf
	w.b.op(n)
	return h
}

// normOp is a norm of the architecture's kind.
func (w *stream) normOp(name string, in, out prog.BufID, width int) prog.Norm {
	n := prog.Norm{In: in, Out: out, Add: prog.NoBuf, W: w.b.vector(name+".weight", width), Bias: prog.NoWeight, Norm: w.d.norm, Eps: w.Eps}
	if w.d.normBias {
		n.Bias = w.b.vector(name+".bias", width)
	}
	return n
}

// output adds a result of layer l to the stream, through the norm of that name
// where norms stand after.
func (w *stream) output(l int, norm string, sum prog.BufID) {
	if w.d.norms != before {
		w.b.op(w.normOp(w.name(l, norm), sum, sum, w.Embd))
	}
	w.settle() // the sum of a block that runs beside another
	w.pending = sum
	if w.residual != 1 {
		w.settle()
	}
}

// settle adds what is pending to the stream at once.
func (w *stream) settle() {
	if w.pending != prog.NoBuf {
		w.b.op(prog.AddTo{Dst: w.x, Src: w.pending, Scale: w.residual})
		w.pending = prog.NoBuf
	}
}

// part is one matrix of a Linear with its bias, where the architecture has one.
func (w *stream) part(out prog.BufID, name string, rows, cols int, bias need) prog.LinearPart {
	return w.cut(out, name, rows, cols, 0, rows, bias)
}

// cut is part for the rows from..from+rows of a fused matrix of all rows.
func (w *stream) cut(out prog.BufID, name string, all, cols, from, rows int, bias need) prog.LinearPart {
	p := prog.LinearPart{Out: out, Bias: prog.NoWeight}
	p.W = w.b.cut(prog.Weight{Tensor: name + ".weight", Kind: prog.Matrix, Rows: rows, Cols: cols, FromRow: from}, all)
	if bias == required || bias == maybe && w.b.has(name+".bias") {
		p.Bias = w.b.cut(prog.Weight{Tensor: name + ".bias", Kind: prog.Vector, Rows: 1, Cols: rows, FromRow: from}, all)
	}
	return p
}
