package prog

import "fmt"

// ExpertAct joins an expert's gate g and up u.
type ExpertAct uint8

const (
	ExpertSiLU ExpertAct = iota // SiLU(g) × u
	ExpertGELU                  // GELU(g) × u, tanh form
	// ExpertClamped is min(g, Limit) × sigmoid(Alpha × min(g, Limit)) × (u' + 1),
	// u' being u within ±Limit; computed as
	//
	//	SiLU(Alpha × min(g, Limit)) × ((u' + 1) × (1 ÷ Alpha))
	ExpertClamped
)

// String is the activation's name.
func (a ExpertAct) String() string {
	switch a {
	case ExpertGELU:
		return "gelu"
	case ExpertClamped:
		return "clamped"
	}
	return "silu"
}

// Experts runs each row through the gated feed-forwards that Route chose for it
// and adds their results, in the order of the choice:
//
//	y_k = Down[id_k] · act( Gate[id_k] · In + …, Up[id_k] · In + … ) + …
//	Out = fma(y_K, w_K, … fma(y_1, w_1, +0))
//
// The weights are stacks of one matrix for each expert, the biases stacks of one
// vector. How many rows an expert has in a step changes no bit of any.
type Experts struct {
	In, Out      BufID
	Ids, Weights BufID    // of Route
	Gate, Up     WeightID // stacks of Matrix, hidden × width of In
	Down         WeightID // stack of Matrix, width of Out × hidden

	GateBias, UpBias, DownBias WeightID // stacks of Vector, or NoWeight

	Act          ExpertAct
	Alpha, Limit float32 // ExpertClamped
}

// Kind implements Op.
func (Experts) Kind() string { return "experts" }

func (o Experts) check(c *checker) {
	in, rows := c.shape("In", o.In)
	out, _ := c.shape("Out", o.Out)
	used, _ := c.shape("Ids", o.Ids)
	c.read("In", o.In, in, rows)
	c.read("Ids", o.Ids, used, rows)
	c.read("Weights", o.Weights, used, rows)
	for _, b := range []BufID{o.In, o.Ids, o.Weights} {
		c.apart("Out", o.Out, b)
	}
	hidden, n := c.rows("Gate", o.Gate), c.stacked("Gate", o.Gate)
	c.intIn("experts", n, 1, maxExperts)
	c.stack("Gate", o.Gate, Matrix, n, hidden, in)
	c.stack("Up", o.Up, Matrix, n, hidden, in)
	c.stack("Down", o.Down, Matrix, n, out, hidden)
	c.stackBias("GateBias", o.GateBias, n, hidden)
	c.stackBias("UpBias", o.UpBias, n, hidden)
	c.stackBias("DownBias", o.DownBias, n, out)
	c.intIn("Act", int(o.Act), int(ExpertSiLU), int(ExpertClamped))
	if o.Act == ExpertClamped {
		c.positive("Alpha", o.Alpha)
		c.positive("Limit", o.Limit)
	}
	if c.err == nil && c.routed[o.Ids] != n {
		c.fail("Ids", fmt.Sprintf("a choice of %d experts", n), fmt.Sprintf("one of %d", c.routed[o.Ids]))
	}
	c.write("Out", o.Out, out, rows)
}

func (w *printer) experts(o Experts) string {
	act := o.Act.String()
	if o.Act == ExpertClamped {
		act += fmt.Sprintf(" (alpha %v, limit %v)", o.Alpha, o.Limit)
	}
	return fmt.Sprintf("%s = sum of %s × %s: %s(%s%s, %s%s) × %s%s, of %s", w.buf(o.Out), w.buf(o.Ids), w.buf(o.Weights), act,
		w.weight(o.Gate), w.bias(o.GateBias), w.weight(o.Up), w.bias(o.UpBias), w.weight(o.Down), w.bias(o.DownBias), w.buf(o.In))
}

// stacked is how many matrices or vectors lie in a weight.
func (c *checker) stacked(operand string, id WeightID) int {
	if id < 0 || int(id) >= len(c.p.Weights) {
		c.fail(operand, fmt.Sprintf("a weight 0 to %d", len(c.p.Weights)-1), fmt.Sprint(id))
		return 0
	}
	return c.p.Weights[id].Stack
}

// stack checks a weight of n matrices or vectors of rows × cols each.
func (c *checker) stack(operand string, id WeightID, kind WeightKind, n, rows, cols int) {
	if c.stacked(operand, id); c.err != nil {
		return
	}
	w := c.p.Weights[id]
	if w.Kind != kind || w.Stack != n || w.Rows != rows || w.Cols != cols {
		c.fail(operand, fmt.Sprintf("a stack of %d: %s of %d×%d", n, kind, rows, cols),
			fmt.Sprintf("%s, a stack of %d: %s of %d×%d", w.Tensor, w.Stack, w.Kind, w.Rows, w.Cols))
	}
}

// stackBias checks an optional stack of vectors.
func (c *checker) stackBias(operand string, id WeightID, n, cols int) {
	if id != NoWeight {
		c.stack(operand, id, Vector, n, 1, cols)
	}
}
