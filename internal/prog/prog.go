// Package prog holds the vocabulary in which a model is written down for the
// backends: a straight-line program of fused ops over a ragged batch of tokens.
//
// A model is lowered once, at load, to a Program: the layers are unrolled, there
// is no control flow, and every op works on flat buffers with one row a token. A
// backend walks the list once a step. Nothing here executes anything, and nothing
// here knows a weight's format or a device: internal/backend/ref defines what
// each op computes, and the other backends must agree with it bit for bit.
package prog

// BufID names an activation buffer of a program: an index of Program.Bufs.
type BufID int16

// WeightID names a weight of a program: an index of Program.Weights.
type WeightID int16

// NoBuf and NoWeight stand for an optional operand that is not there.
const (
	NoBuf    BufID    = -1
	NoWeight WeightID = -1
)

// RowKind says how many rows a buffer has in a step.
type RowKind uint8

const (
	TokenRows RowKind = iota // one row for each token of the batch
	LogitRows                // one row for each row that wants logits (after TakeRows)
)

// Buffer is an activation buffer: float32, row major, Width values a row.
type Buffer struct {
	Name  string
	Width int
	Rows  RowKind
}

// WeightKind says how a weight is used, and so how a backend may keep it.
type WeightKind uint8

const (
	Matrix WeightKind = iota // multiplied by (Linear, Head) or looked up in (Embed); any format
	Vector                   // norms, biases: widened to float32 at load; Rows is 1
)

// Weight is what a program needs of a file: rows FromRow..FromRow+Rows of a
// tensor whose inner dimension is Cols, or for a Vector the values
// FromRow..FromRow+Cols of all that the tensor holds. A fused tensor (gate and up
// in one, say) is several weights that name one tensor.
type Weight struct {
	Tensor  string // the tensor's name in the file
	Kind    WeightKind
	Rows    int // outputs
	Cols    int // inputs, contiguous
	FromRow int // of a Vector: its first value
	// Stack is how many matrices (or vectors) of Rows × Cols lie one behind another
	// from FromRow on, as those of experts and of heads do; 0: no stack, just one.
	Stack int
}

// Flat is the weight with its stack, if it has one, seen as one matrix of all its
// rows or one vector of all its values. Safe for concurrent use.
func (w Weight) Flat() Weight {
	if w.Stack > 0 && w.Kind == Vector {
		w.Cols *= w.Stack
	} else if w.Stack > 0 {
		w.Rows *= w.Stack
	}
	w.Stack = 0
	return w
}

// KVLayer is the shape of one layer's part of the paged KV cache.
type KVLayer struct {
	Heads    int // key-value heads
	KeyDim   int // values of one head's key
	ValueDim int // values of one head's value
	// Window is how many positions back a query may look, itself included, so
	// that layers of one window form a group whose pages a cache may drop once all
	// queries have passed them; 0: all.
	Window int
	// Prefix says that the values are the first ValueDim values of the keys, and
	// take no room of their own.
	Prefix bool
}

// OwnValues is the width of a head's value as far as the cache keeps it beside
// the key. Safe for concurrent use.
func (l KVLayer) OwnValues() int {
	if l.Prefix {
		return 0
	}
	return l.ValueDim
}

// Program is a model, lowered. It is immutable after lowering and safe for
// concurrent use.
type Program struct {
	Arch    string
	Vocab   int // width of a row of logits
	Embd    int // width of the residual stream
	Context int // longest context in tokens that the model's positions allow
	// Atomic says that rows look at later ones of their sequence, so that all of a
	// sequence is computed in one step, from position 0 on, and nothing of it is
	// worth keeping.
	Atomic  bool
	Bufs    []Buffer
	Weights []Weight
	KV      []KVLayer
	Ops     []Op
}
