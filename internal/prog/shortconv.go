package prog

import "fmt"

// ShortConv is a gated causal convolution over the last few tokens, each channel
// on its own: with s = B × X, value by value,
//
//	Out[p] = C[p] × ( W[0]·s[p−L+1] + … + W[L−1]·s[p] )
//
// where L is the number of W's columns, every product and every sum is rounded,
// sums go from the earliest token on, and what lies before position 0 is left out.
// s is kept for every token, as float32, in state layer KV of the cache.
type ShortConv struct {
	B, C, X, Out BufID
	W            WeightID // Matrix of width × L
	Taps         int      // L
	KV           int
}

// maxTaps bounds the length of a convolution.
const maxTaps = 64

// Kind implements Op.
func (ShortConv) Kind() string { return "short_conv" }

func (o ShortConv) check(c *checker) {
	width, _ := c.shape("B", o.B)
	c.read("B", o.B, width, TokenRows)
	c.read("C", o.C, width, TokenRows)
	c.read("X", o.X, width, TokenRows)
	c.intIn("Taps", o.Taps, 1, maxTaps)
	c.weight("W", o.W, Matrix, width, o.Taps)
	c.state(o.KV, width)
	for _, in := range []BufID{o.B, o.X} { // read by later rows, too
		c.apart("Out", o.Out, in)
	}
	c.write("Out", o.Out, width, TokenRows)
}

func (w *printer) shortConv(o ShortConv) string {
	return fmt.Sprintf("%s = %s × conv(%s × %s, %s of %d), state in kv %d",
		w.buf(o.Out), w.buf(o.C), w.buf(o.B), w.buf(o.X), w.weight(o.W), o.Taps, o.KV)
}
