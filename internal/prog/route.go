package prog

import (
	"fmt"
	"math"
)

// Score says how a router's logits become the scores that experts are weighed by.
type Score uint8

const (
	ScoreSoftmax Score = iota // over all experts, before the choice
	ScoreSigmoid              // each expert's own, before the choice
	ScoreChosen               // the choice is by logits; softmax over those chosen
)

// String is the score's name.
func (s Score) String() string {
	switch s {
	case ScoreSigmoid:
		return "sigmoid"
	case ScoreChosen:
		return "softmax of the chosen"
	}
	return "softmax"
}

// Route chooses experts for each row: those of the largest scores, ties to the
// lower index, a NaN after all numbers.
//
//	In        logits of E experts
//	scores    by Score
//	choice    of the largest scores + Bias, within the groups chosen before:
//	          Groups equal runs of experts, of which GroupsUsed are kept, those with
//	          the largest sum of their two best
//	Ids       the K chosen, best first, as float32 (exact up to 2²⁴)
//	Weights   their scores, without the bias; with Norm divided by their sum (at
//	          least 2⁻¹⁴); times Scale
//
// K is the width of Ids and Weights. In is used up: no later op may read it.
type Route struct {
	In           BufID // width E
	Ids, Weights BufID // width K
	Score        Score
	Bias         WeightID // Vector of E, or NoWeight
	Groups       int      // 1: no groups
	GroupsUsed   int
	Norm         bool
	Scale        float32 // 1 for most models
}

// LeastWeights bounds the sum that Route divides by.
const LeastWeights = 1. / (1 << 14)

// maxGroups bounds the groups of a router: they are marked in a word.
const maxGroups = 64

// maxExperts bounds the experts of a layer: their indices are float32.
const maxExperts = 1 << 16

// Kind implements Op.
func (Route) Kind() string { return "route" }

func (o Route) check(c *checker) {
	n, rows := c.shape("In", o.In)
	used, _ := c.shape("Ids", o.Ids)
	c.read("In", o.In, n, rows)
	c.intIn("experts (width of In)", n, 1, maxExperts)
	c.intIn("experts of a row (width of Ids)", used, 1, n)
	c.apart("Ids", o.Ids, o.In)
	c.apart("Weights", o.Weights, o.In)
	c.apart("Weights", o.Weights, o.Ids)
	c.bias("Bias", o.Bias, n)
	c.intIn("Score", int(o.Score), int(ScoreSoftmax), int(ScoreChosen))
	c.intIn("Groups", o.Groups, 1, min(n, maxGroups))
	c.intIn("GroupsUsed", o.GroupsUsed, 1, o.Groups)
	if c.err == nil {
		c.intIs("experts modulo groups", n%o.Groups, 0)
		c.intIn("experts of a row", used, 1, n/o.Groups*o.GroupsUsed)
	}
	c.finite("Scale", o.Scale)
	c.write("Ids", o.Ids, used, rows)
	c.write("Weights", o.Weights, used, rows)
	if c.err == nil {
		c.routed[o.Ids] = n
		c.written[o.In] = false
	}
}

func (w *printer) route(o Route) string {
	groups, norm := "", ""
	if o.Groups > 1 {
		groups = fmt.Sprintf(" in %d of %d groups", o.GroupsUsed, o.Groups)
	}
	if o.Norm {
		norm = ", normed"
	}
	return fmt.Sprintf("%s, %s = best by %s of %s%s%s%s, scale %v",
		w.buf(o.Ids), w.buf(o.Weights), o.Score, w.buf(o.In), w.bias(o.Bias), groups, norm, o.Scale)
}

// RowScale multiplies each row by the sigmoid of one number:
// Dst[row] ×= 1 ÷ (1 + e^−Gate[row]).
type RowScale struct {
	Dst  BufID
	Gate BufID // width 1
}

// Kind implements Op.
func (RowScale) Kind() string { return "row_scale" }

func (o RowScale) check(c *checker) {
	width, rows := c.shape("Dst", o.Dst)
	c.read("Dst", o.Dst, width, rows)
	c.read("Gate", o.Gate, 1, rows)
	c.apart("Gate", o.Gate, o.Dst)
}

func (w *printer) rowScale(o RowScale) string {
	return fmt.Sprintf("%s ×= sigmoid(%s)", w.buf(o.Dst), w.buf(o.Gate))
}

// positive faults a number that is not above zero.
func (c *checker) positive(operand string, v float32) {
	if !(v > 0) || math.IsInf(float64(v), 0) {
		c.fail(operand, "a positive number", fmt.Sprint(v))
	}
}
