package prog

import "fmt"

// HeadLinear multiplies the head of a row of each of several heads by a matrix
// of that head, and copies what the head has beyond the matrix behind it:
//
//	In   │ head 0: Cols │ rest │ head 1: Cols │ rest │ …
//	Out  │ W[0]·: Rows  │ rest │ W[1]·: Rows  │ rest │ …
//
// It is how latent attention takes queries into the keys' latent space (where
// the rest rotates) and attended latents back to values (no rest).
type HeadLinear struct {
	In, Out BufID
	W       WeightID // stack of one Matrix for each head
}

// Kind implements Op.
func (HeadLinear) Kind() string { return "head_linear" }

func (o HeadLinear) check(c *checker) {
	in, rows := c.shape("In", o.In)
	out, _ := c.shape("Out", o.Out)
	c.read("In", o.In, in, rows)
	c.apart("Out", o.Out, o.In)
	n := c.stacked("W", o.W)
	c.intIn("heads (stack of W)", n, 1, maxDim)
	if c.err != nil {
		return
	}
	w := c.p.Weights[o.W]
	c.stack("W", o.W, Matrix, n, w.Rows, w.Cols)
	c.intIs("width of In modulo heads", in%n, 0)
	c.intIn("width of a head of In", in/n, w.Cols, maxDim)
	c.intIs("width of Out", out, n*(w.Rows+in/n-w.Cols))
	c.write("Out", o.Out, out, rows)
}

// Rest is how many values of a head are copied. Safe for concurrent use.
func (o HeadLinear) Rest(p *Program) int {
	w := p.Weights[o.W]
	return p.Bufs[o.In].Width/w.Stack - w.Cols
}

func (w *printer) headLinear(o HeadLinear) string {
	return fmt.Sprintf("%s = %s by heads of %s", w.buf(o.Out), w.weight(o.W), w.buf(o.In))
}
