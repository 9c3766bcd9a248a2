package prog

// Op is one fused operation. The concrete types below are the whole vocabulary;
// a backend switches over them once, when it builds its runner.
type Op interface {
	// Kind is the op's name as Program.String prints it.
	Kind() string
	// check reports the first operand that does not fit.
	check(c *checker)
}

// Embed looks the batch's token ids up:
//
//	Out[row] = Scale × W[token of row] + Pos[position of row] + Type
//
// product and sums rounded, in this order.
type Embed struct {
	Out   BufID    // width Cols of W
	W     WeightID // Matrix, Rows = vocabulary
	Scale float32  // 1 for most models
	Pos   WeightID // Matrix, at least Program.Context rows: learned positions; or NoWeight
	Type  WeightID // Vector: the one row of token types in use; or NoWeight
}

// NormKind tells root-mean-square from layer normalisation.
type NormKind uint8

const (
	RMS NormKind = iota
	LayerNorm
)

// Norm normalises each row, whatever its width. With Add, first In += Add (the
// residual, written back to In), then Out = normalised In × W (+ Bias).
type Norm struct {
	In, Out BufID // may be one buffer
	Add     BufID // or NoBuf
	W       WeightID
	Bias    WeightID // or NoWeight
	Norm    NormKind
	Eps     float32
}

// LinearPart is one weight of a Linear: Out = W · In (+ Bias).
type LinearPart struct {
	Out  BufID
	W    WeightID
	Bias WeightID // or NoWeight
}

// Linear multiplies one input by one or more weights (query, key and value; gate
// and up), so that a backend quantises the input once for all of them.
type Linear struct {
	In    BufID
	Parts []LinearPart
}

// PairOrder says which two values of a head rotate together.
type PairOrder uint8

const (
	Interleaved PairOrder = iota // (2i, 2i+1): llama files
	Halves                       // (i, i + Dim/2): qwen and most others
)

// Rope is a rotary embedding with everything already folded in at lowering: the
// angle of pair i at position p is p × Freqs[i], and both cosine and sine are
// multiplied by Mag. Values From..From+Dim of a head rotate, the others stay.
type Rope struct {
	Dim   int // values of a head that rotate, 2 × len(Freqs); 0: none
	From  int
	Order PairOrder
	Freqs []float32
	Mag   float32 // 1 but for YaRN and longrope
}

// Temperature sharpens attention with the distance travelled: a query at
// position p is multiplied by 1 + Scale × ln(1 + ⌊p ÷ Every⌋). The zero value
// does nothing.
type Temperature struct {
	Scale float32
	Every int // positions; at least 1 where Scale is not 0
}

// RopeAppend normalises (optionally, per head) and rotates queries in place,
// does the same to keys, and writes keys and values to the batch's slots of
// layer KV of the cache. In a layer of Prefix, V is NoBuf and the value of a head
// is the first ValueDim values of its key, as written.
type RopeAppend struct {
	Q, K, V                 BufID // widths Heads×HeadDim, KVHeads×HeadDim, KVHeads×ValueDim of the KV layer; V may be NoBuf
	KV                      int   // index of Program.KV, whose KeyDim is HeadDim
	Heads, KVHeads, HeadDim int
	QNorm, KNorm            WeightID // Vector of HeadDim (RMS), or NoWeight; without V, KNorm may be of a key's first values alone
	NormEps                 float32
	Rope                    Rope
	Temp                    Temperature // of queries, after they rotated
}

// Attend is paged attention with grouped heads: row r of sequence s at position
// p sees the keys at positions 0..p of s (p−Window+1..p with a window). With
// Both it sees all keys of s (those at most Window÷2 away with a window).
//
//	score = softcap(Scale × q·k)      softcap(x) = Cap × tanh(x ÷ Cap), or x
//	out   = Σ e^score × v ÷ (Σ e^score + e^sink)
type Attend struct {
	Q, Out                  BufID // widths Heads×HeadDim, Heads×ValueDim of the KV layer
	KV                      int   // index of Program.KV, whose KeyDim is HeadDim
	Heads, KVHeads, HeadDim int
	Scale                   float32
	Cap                     float32  // 0: none
	Window                  int      // 0: none
	Both                    bool     // sequences must be whole in their batch
	Sinks                   WeightID // Vector of Heads: a score that takes part in the sum alone; or NoWeight
}

// Act is an activation function.
type Act uint8

const (
	SiLU Act = iota
	GELU     // tanh form
	Tanh     // of classifiers
)

// GateMul is Out = Act(Gate) × Up, value by value.
type GateMul struct {
	Gate, Up, Out BufID
	Act           Act
}

// Activate is Out = Act(In), value by value: a feed-forward without a gate.
type Activate struct {
	In, Out BufID // may be one buffer
	Act     Act
}

// AddTo is Dst += Scale × Src, fused: rounded once.
type AddTo struct {
	Dst, Src BufID
	Scale    float32 // 1 for most models
}

// TakeRows keeps the rows that want logits: Out has LogitRows.
type TakeRows struct {
	In, Out BufID
}

// Head is the final product, float32, one row for each row of In, which has
// LogitRows:
//
//	logits = softcap(Scale × (W · In + Bias))      softcap(x) = Cap × tanh(x ÷ Cap), or x
type Head struct {
	In    BufID
	W     WeightID
	Bias  WeightID // or NoWeight
	Scale float32  // 1 for most models
	Cap   float32  // 0: none
}

func (Embed) Kind() string      { return "embed" }
func (Norm) Kind() string       { return "norm" }
func (Linear) Kind() string     { return "linear" }
func (RopeAppend) Kind() string { return "rope_append" }
func (Attend) Kind() string     { return "attend" }
func (GateMul) Kind() string    { return "gate_mul" }
func (Activate) Kind() string   { return "activate" }
func (AddTo) Kind() string      { return "add_to" }
func (TakeRows) Kind() string   { return "take_rows" }
func (Head) Kind() string       { return "head" }
