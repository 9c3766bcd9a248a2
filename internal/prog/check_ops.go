package prog

import (
	"fmt"
	"math"
)

func (o Embed) check(c *checker) {
	w := c.rows("W", o.W)
	c.intIs("rows of W (the vocabulary)", w, c.p.Vocab)
	c.weight("W", o.W, Matrix, -1, c.p.Embd)
	if o.Pos != NoWeight {
		c.weight("Pos", o.Pos, Matrix, -1, c.p.Embd)
		c.intIn("rows of Pos (positions)", c.rows("Pos", o.Pos), c.p.Context, maxDim)
	}
	c.bias("Type", o.Type, c.p.Embd)
	c.write("Out", o.Out, c.p.Embd, TokenRows)
	c.finite("Scale", o.Scale)
}

func (o Norm) check(c *checker) {
	width, rows := c.shape("In", o.In)
	c.read("In", o.In, width, rows)
	if o.Add != NoBuf {
		c.read("Add", o.Add, width, rows)
		c.apart("Add", o.Add, o.In)
		c.apart("Out", o.Out, o.Add)
	}
	c.weight("W", o.W, Vector, 1, width)
	c.bias("Bias", o.Bias, width)
	c.intIn("Norm", int(o.Norm), int(RMS), int(LayerNorm))
	c.epsilon("Eps", o.Eps)
	c.write("Out", o.Out, width, rows)
}

func (o Linear) check(c *checker) {
	width, rows := c.shape("In", o.In)
	c.read("In", o.In, width, rows)
	c.intIn("number of parts", len(o.Parts), 1, 1<<10)
	for i, p := range o.Parts {
		name := fmt.Sprintf("part %d", i)
		c.apart(name+" Out", p.Out, o.In)
		for _, q := range o.Parts[:i] {
			c.apart(name+" Out", p.Out, q.Out)
		}
		n := c.rows(name+" W", p.W)
		c.weight(name+" W", p.W, Matrix, n, width)
		c.bias(name+" Bias", p.Bias, n)
		c.write(name+" Out", p.Out, n, rows)
	}
}

func (o RopeAppend) check(c *checker) {
	valueDim := c.kv(o.KV, o.Heads, o.KVHeads, o.HeadDim)
	c.read("Q", o.Q, o.Heads*o.HeadDim, TokenRows)
	c.read("K", o.K, o.KVHeads*o.HeadDim, TokenRows)
	c.apart("K", o.K, o.Q)
	if o.V != NoBuf {
		c.read("V", o.V, o.KVHeads*valueDim, TokenRows)
		c.apart("V", o.V, o.Q)
		c.apart("V", o.V, o.K)
	} else {
		c.intIn("value width (a part of the key)", valueDim, 1, o.HeadDim)
	}
	if c.err == nil && c.p.KV[o.KV].Prefix != (o.V == NoBuf) {
		c.fail("V", "none where the layer's values are in its keys, else a buffer", fmt.Sprintf("%d", o.V))
	}
	c.bias("QNorm", o.QNorm, o.HeadDim)
	c.bias("KNorm", o.KNorm, c.normed(o))
	if o.QNorm != NoWeight || o.KNorm != NoWeight {
		c.epsilon("NormEps", o.NormEps)
	}
	c.rope(o.Rope, o.HeadDim)
	if c.finite("Temp.Scale", o.Temp.Scale); o.Temp.Scale != 0 {
		c.intIn("Temp.Every", o.Temp.Every, 1, math.MaxInt32)
	}
}

func (c *checker) rope(r Rope, headDim int) {
	c.intIn("Rope.Dim", r.Dim, 0, headDim)
	c.intIn("Rope.From", r.From, 0, headDim-r.Dim)
	c.intIs("Rope.Dim (2 × frequencies)", r.Dim, 2*len(r.Freqs))
	c.intIn("Rope.Order", int(r.Order), int(Interleaved), int(Halves))
	for i, f := range r.Freqs {
		c.finite(fmt.Sprintf("Rope.Freqs[%d]", i), f)
	}
	if r.Dim > 0 {
		c.finite("Rope.Mag", r.Mag)
	}
}

// normed is how many values of a key are normalised: all, but of a key that
// begins with its value it may be a part.
func (c *checker) normed(o RopeAppend) int {
	if o.V == NoBuf && o.KNorm >= 0 && int(o.KNorm) < len(c.p.Weights) {
		return min(c.p.Weights[o.KNorm].Cols, o.HeadDim)
	}
	return o.HeadDim
}

func (o Attend) check(c *checker) {
	valueDim := c.kv(o.KV, o.Heads, o.KVHeads, o.HeadDim)
	c.read("Q", o.Q, o.Heads*o.HeadDim, TokenRows)
	c.apart("Out", o.Out, o.Q)
	c.finite("Scale", o.Scale)
	c.cap("Cap", o.Cap)
	c.intIn("Window", o.Window, 0, math.MaxInt32)
	if c.err == nil && c.p.KV[o.KV].Window > 0 {
		c.intIn("Window (of a layer that keeps a window)", o.Window, 1, c.p.KV[o.KV].Window)
	}
	c.bias("Sinks", o.Sinks, o.Heads)
	c.write("Out", o.Out, o.Heads*valueDim, TokenRows)
}

func (o GateMul) check(c *checker) {
	width, rows := c.shape("Gate", o.Gate)
	c.read("Gate", o.Gate, width, rows)
	c.read("Up", o.Up, width, rows)
	c.intIn("Act", int(o.Act), int(SiLU), int(Tanh))
	c.write("Out", o.Out, width, rows)
}

func (o Activate) check(c *checker) {
	width, rows := c.shape("In", o.In)
	c.read("In", o.In, width, rows)
	c.intIn("Act", int(o.Act), int(SiLU), int(Tanh))
	c.write("Out", o.Out, width, rows)
}

func (o AddTo) check(c *checker) {
	width, rows := c.shape("Dst", o.Dst)
	c.read("Dst", o.Dst, width, rows)
	c.read("Src", o.Src, width, rows)
	c.apart("Src", o.Src, o.Dst)
	c.finite("Scale", o.Scale)
}

func (o TakeRows) check(c *checker) {
	width, _ := c.shape("In", o.In)
	c.read("In", o.In, width, TokenRows)
	c.write("Out", o.Out, width, LogitRows)
}

func (o Head) check(c *checker) {
	width, _ := c.shape("In", o.In)
	c.read("In", o.In, width, LogitRows)
	c.weight("W", o.W, Matrix, c.p.Vocab, width)
	c.bias("Bias", o.Bias, c.p.Vocab)
	c.finite("Scale", o.Scale)
	c.cap("Cap", o.Cap)
	c.heads++
	c.intIs("place in the list (must be the last)", c.op, len(c.p.Ops)-1)
}

func (c *checker) finite(operand string, v float32) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		c.fail(operand, "a finite number", fmt.Sprint(v))
	}
}

// cap is of a soft cap: 0 or a positive number.
func (c *checker) cap(operand string, v float32) {
	if v != 0 {
		c.epsilon(operand, v)
	}
}

// epsilon must be positive: a row of zeros is divided by its root.
func (c *checker) epsilon(operand string, v float32) {
	if !(v > 0) || math.IsInf(float64(v), 0) {
		c.fail(operand, "a positive number", fmt.Sprint(v))
	}
}
