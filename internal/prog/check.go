package prog

import (
	"fmt"
	"math"
)

// ShapeError is the first fault of a program that does not fit together. It is
// a fault of the lowering or of the file's metadata, never of a batch.
type ShapeError struct {
	Op      int    // index of Program.Ops; -1: the program as a whole
	Kind    string // the op's name; empty for the program as a whole
	Operand string
	Want    string
	Got     string
}

func (e *ShapeError) Error() string {
	if e.Op < 0 {
		return fmt.Sprintf("prog: %s: expected %s, got %s", e.Operand, e.Want, e.Got)
	}
	return fmt.Sprintf("prog: op %d (%s), operand %s: expected %s, got %s", e.Op, e.Kind, e.Operand, e.Want, e.Got)
}

// maxDim bounds every width and row count, so that products of two of them and
// of a step's rows stay far inside an int64.
const maxDim = 1 << 28

// Check reports the first operand that does not fit: an index out of range, a
// width or row count that disagrees, a buffer read before an op wrote it, or an
// op list that does not end in one Head. A program that passes can be executed
// by any backend without further checks of shapes. Safe for concurrent use.
func (p *Program) Check() error {
	c := &checker{p: p, op: -1, written: make([]bool, len(p.Bufs)), routed: map[BufID]int{}}
	c.program()
	for i, op := range p.Ops {
		if c.err != nil {
			break
		}
		c.op, c.kind = i, op.Kind()
		op.check(c)
	}
	if c.err == nil {
		c.op = -1
		c.intIs("heads (ops that make logits)", c.heads, 1)
	}
	return c.err
}

// checker collects the first fault of a program.
type checker struct {
	p       *Program
	op      int
	kind    string
	written []bool        // buffer → some op before this one has written it
	routed  map[BufID]int // buffers that hold Route's choice → of how many experts
	heads   int
	err     error
}

func (c *checker) fail(operand, want, got string) {
	if c.err == nil {
		c.err = &ShapeError{Op: c.op, Kind: c.kind, Operand: operand, Want: want, Got: got}
	}
}

func (c *checker) intIs(operand string, got, want int) {
	if got != want {
		c.fail(operand, fmt.Sprint(want), fmt.Sprint(got))
	}
}

func (c *checker) intIn(operand string, got, low, high int) {
	if got < low || got > high {
		c.fail(operand, fmt.Sprintf("%d to %d", low, high), fmt.Sprint(got))
	}
}

// program checks what does not belong to an op.
func (c *checker) program() {
	p := c.p
	c.intIn("vocab", p.Vocab, 1, maxDim)
	c.intIn("embd", p.Embd, 1, maxDim)
	c.intIn("context", p.Context, 1, 1<<31-1)
	c.intIn("number of buffers", len(p.Bufs), 1, 1<<15-1)
	c.intIn("number of weights", len(p.Weights), 1, 1<<15-1)
	c.intIn("number of ops", len(p.Ops), 1, 1<<20)
	for i, b := range p.Bufs {
		c.intIn(fmt.Sprintf("buffer %d (%s), width", i, b.Name), b.Width, 1, maxDim)
		c.intIn(fmt.Sprintf("buffer %d (%s), kind of rows", i, b.Name), int(b.Rows), 0, int(LogitRows))
	}
	for i, w := range p.Weights {
		name := fmt.Sprintf("weight %d (%s)", i, w.Tensor)
		c.intIn(name+", rows", w.Rows, 1, maxDim)
		c.intIn(name+", columns", w.Cols, 1, maxDim)
		c.intIn(name+", first row", w.FromRow, 0, maxDim)
		c.intIn(name+", kind", int(w.Kind), 0, int(Vector))
		c.intIn(name+", stack", w.Stack, 0, maxDim/max(w.Rows, 1))
		if w.Kind == Vector {
			c.intIs(name+", rows of a vector", w.Rows, 1)
		}
	}
	for i, l := range p.KV {
		name := fmt.Sprintf("kv layer %d", i)
		c.intIn(name+", heads", l.Heads, 1, maxDim)
		c.intIn(name+", key width", l.KeyDim, 0, maxDim) // 0: a state layer
		c.intIn(name+", value width", l.ValueDim, 1, maxDim)
		c.intIn(name+", window", l.Window, 0, math.MaxInt32)
	}
}

// buf returns a buffer, or a fault and nil when the index is out of range or
// its width is not width.
func (c *checker) buf(operand string, id BufID, width int) *Buffer {
	if id < 0 || int(id) >= len(c.p.Bufs) {
		c.fail(operand, fmt.Sprintf("a buffer 0 to %d", len(c.p.Bufs)-1), fmt.Sprint(id))
		return nil
	}
	b := &c.p.Bufs[id]
	if b.Width != width {
		c.fail(operand, fmt.Sprintf("a buffer of width %d", width), fmt.Sprintf("%s of width %d", b.Name, b.Width))
		return nil
	}
	return b
}

// read is buf for an operand whose values the op uses.
func (c *checker) read(operand string, id BufID, width int, rows RowKind) {
	b := c.buf(operand, id, width)
	if b == nil {
		return
	}
	if b.Rows != rows {
		c.fail(operand, "a buffer of "+rows.String()+" rows", b.Name+" of "+b.Rows.String()+" rows")
	} else if !c.written[id] {
		c.fail(operand, "a buffer that an earlier op has written", b.Name+", not yet written")
	}
}

// write is buf for an operand that the op fills.
func (c *checker) write(operand string, id BufID, width int, rows RowKind) {
	b := c.buf(operand, id, width)
	if b == nil {
		return
	}
	if b.Rows != rows {
		c.fail(operand, "a buffer of "+rows.String()+" rows", b.Name+" of "+b.Rows.String()+" rows")
		return
	}
	c.written[id] = true
	delete(c.routed, id)
}

// shape returns width and kind of an input buffer, so that the other operands
// can be held against it.
func (c *checker) shape(operand string, id BufID) (width int, rows RowKind) {
	if id < 0 || int(id) >= len(c.p.Bufs) {
		c.fail(operand, fmt.Sprintf("a buffer 0 to %d", len(c.p.Bufs)-1), fmt.Sprint(id))
		return 0, TokenRows
	}
	return c.p.Bufs[id].Width, c.p.Bufs[id].Rows
}

// apart faults where two operands must not be one buffer.
func (c *checker) apart(operand string, id, other BufID) {
	if id == other {
		c.fail(operand, "a buffer of its own", fmt.Sprintf("buffer %d twice", id))
	}
}

// weight checks kind and shape; rows < 0 leaves the rows open.
func (c *checker) weight(operand string, id WeightID, kind WeightKind, rows, cols int) {
	if id < 0 || int(id) >= len(c.p.Weights) {
		c.fail(operand, fmt.Sprintf("a weight 0 to %d", len(c.p.Weights)-1), fmt.Sprint(id))
		return
	}
	w := c.p.Weights[id]
	if rows < 0 {
		rows = w.Rows
	}
	if w.Stack != 0 {
		c.fail(operand, "a "+kind.String(), fmt.Sprintf("%s, a stack of %d", w.Tensor, w.Stack))
	} else if w.Kind != kind || w.Rows != rows || w.Cols != cols {
		c.fail(operand, fmt.Sprintf("a %s of %d×%d", kind, rows, cols),
			fmt.Sprintf("%s, a %s of %d×%d", w.Tensor, w.Kind, w.Rows, w.Cols))
	}
}

// bias checks an optional vector.
func (c *checker) bias(operand string, id WeightID, cols int) {
	if id != NoWeight {
		c.weight(operand, id, Vector, 1, cols)
	}
}

// rows is how many outputs a matrix has, or a fault and 0.
func (c *checker) rows(operand string, id WeightID) int {
	if id < 0 || int(id) >= len(c.p.Weights) {
		c.fail(operand, fmt.Sprintf("a weight 0 to %d", len(c.p.Weights)-1), fmt.Sprint(id))
		return 0
	}
	return c.p.Weights[id].Rows
}

// kv holds an op's heads against a layer of the cache and returns the width of
// its values, or a fault and 1.
func (c *checker) kv(layer, heads, kvHeads, headDim int) (valueDim int) {
	c.intIn("heads", heads, 1, maxDim)
	c.intIn("kv heads", kvHeads, 1, maxDim)
	c.intIn("head dim", headDim, 1, maxDim)
	if c.err != nil {
		return 1
	}
	if heads%kvHeads != 0 {
		c.fail("heads", fmt.Sprintf("a multiple of %d kv heads", kvHeads), fmt.Sprint(heads))
	}
	if layer < 0 || layer >= len(c.p.KV) {
		c.fail("kv layer", fmt.Sprintf("0 to %d", len(c.p.KV)-1), fmt.Sprint(layer))
		return 1
	}
	l := c.p.KV[layer]
	if l.Heads != kvHeads || l.KeyDim != headDim {
		c.fail("kv layer", fmt.Sprintf("%d heads with keys of %d", kvHeads, headDim), fmt.Sprintf("%d with %d", l.Heads, l.KeyDim))
	}
	if l.Prefix && l.ValueDim > l.KeyDim {
		c.fail("value width (a part of the key)", fmt.Sprintf("1 to %d", l.KeyDim), fmt.Sprint(l.ValueDim))
	}
	return l.ValueDim
}
