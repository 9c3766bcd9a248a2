package prog

import "fmt"

// PoolKind says how the rows of a sequence become one. A reranker's score is one
// of these followed by its classifier, which is Linear and Act over pooled rows.
type PoolKind uint8

const (
	PoolMean PoolKind = iota // the mean of all rows
	PoolCLS                  // the first row
	PoolLast                 // the last row
)

// String is the kind's name.
func (k PoolKind) String() string {
	switch k {
	case PoolCLS:
		return "cls"
	case PoolLast:
		return "last"
	}
	return "mean"
}

// Pool makes one row of a sequence's rows: Out has a row for each row that wants
// output, pooled over its sequence from position 0 up to that row.
//
//	sequence   a a a a │ b b │ c
//	wants            ▲     ▲   ▲
//	Out              a     b   c
//
// An atomic program has all rows of a sequence in one step. Elsewhere the first
// ones may have been computed in steps before, so that the mean keeps a running
// float32 sum, added in order of positions, in layer KV of the cache, and the
// first row is out of reach: PoolCLS is for atomic programs alone.
type Pool struct {
	In, Out BufID
	Pool    PoolKind
	KV      int // PoolMean of a program that is not atomic: a state layer as wide as In; else −1
}

// Output hands the rows of In, which has LogitRows, to the caller: the last op of
// a program that embeds, in place of Head.
type Output struct{ In BufID }

// Kind implements Op.
func (Pool) Kind() string { return "pool" }

// Kind implements Op.
func (Output) Kind() string { return "output" }

func (o Pool) check(c *checker) {
	width, _ := c.shape("In", o.In)
	c.read("In", o.In, width, TokenRows)
	c.intIn("Pool", int(o.Pool), int(PoolMean), int(PoolLast))
	switch {
	case o.Pool == PoolMean && !c.p.Atomic:
		c.state(o.KV, width)
	case o.Pool == PoolCLS && !c.p.Atomic:
		c.fail("Pool", "an atomic program for cls", "one that may be cut into steps")
	default:
		c.intIs("KV", o.KV, -1)
	}
	c.write("Out", o.Out, width, LogitRows)
}

func (o Output) check(c *checker) {
	width, _ := c.shape("In", o.In)
	c.read("In", o.In, width, LogitRows)
	c.heads++
	c.intIs("place in the list (must be the last)", c.op, len(c.p.Ops)-1)
}

// state checks a layer of the cache that keeps width values a token.
func (c *checker) state(layer, width int) {
	if layer < 0 || layer >= len(c.p.KV) {
		c.fail("kv layer", fmt.Sprintf("0 to %d", len(c.p.KV)-1), fmt.Sprint(layer))
		return
	}
	if want := StateLayer(width); c.p.KV[layer] != want {
		c.fail("kv layer", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", c.p.KV[layer]))
	}
}

// StateLayer is the shape of a layer that keeps width float32 a token, without
// keys: the state of an op that looks back at earlier tokens of its sequence. As
// it lies in pages, by token, sharing, preemption and rollback treat it like
// keys and values.
func StateLayer(width int) KVLayer { return KVLayer{Heads: 1, ValueDim: width} }

// State tells whether the layer is one of StateLayer.
func (l KVLayer) State() bool { return l.KeyDim == 0 }

// OutWidth is the width of a row that a step gives out: logits over the
// vocabulary, or an embedding. Safe for concurrent use.
func (p *Program) OutWidth() int {
	if n := len(p.Ops); n > 0 {
		if o, ok := p.Ops[n-1].(Output); ok {
			return p.Bufs[o.In].Width
		}
	}
	return p.Vocab
}

// Embeds tells whether the program's rows are embeddings and not logits. Safe for
// concurrent use.
func (p *Program) Embeds() bool {
	if len(p.Ops) == 0 {
		return false
	}
	_, ok := p.Ops[len(p.Ops)-1].(Output)
	return ok
}

func (w *printer) pool(o Pool) string {
	sum := ""
	if o.KV >= 0 {
		sum = fmt.Sprintf(", sums in kv %d", o.KV)
	}
	return fmt.Sprintf("%s = %s of %s%s", w.buf(o.Out), o.Pool, w.buf(o.In), sum)
}
