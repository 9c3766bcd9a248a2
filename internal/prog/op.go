package prog

// Op is one fused operation. The concrete types below are the whole vocabulary;
// a backend switches over them once, when it builds its runner.
type Op interface {
	// Kind is the op's name as Program.String prints it.
	Kind() string
	// check reports the first operand that does not fit.
	check(c *checker)
}

// Embed looks the batch's token ids up: Out[row] = Scale × W[token of row].
type Embed struct {
	Out   BufID    // width Cols of W
	W     WeightID // Matrix, Rows = vocabulary
	Scale float32  // 1 for most models
}

// NormKind tells root-mean-square from layer normalisation.
type NormKind uint8

const (
	RMS NormKind = iota
	LayerNorm
)

// Norm normalises each row. With Add, first In += Add (the residual, written
// back to In), then Out = normalised In × W (+ Bias).
type Norm struct {
	In, Out BufID
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
// multiplied by Mag.
type Rope struct {
	Dim   int // values of a head that rotate, 2 × len(Freqs); 0: none
	Order PairOrder
	Freqs []float32
	Mag   float32 // 1 but for YaRN and longrope
}

// RopeAppend normalises (optionally, per head) and rotates queries in place,
// does the same to keys, and writes keys and values to the batch's slots of
// layer KV of the cache.
type RopeAppend struct {
	Q, K, V                 BufID // widths Heads×HeadDim, KVHeads×HeadDim, KVHeads×HeadDim
	KV                      int   // index of Program.KV
	Heads, KVHeads, HeadDim int
	QNorm, KNorm            WeightID // Vector of HeadDim (RMS), or NoWeight
	NormEps                 float32
	Rope                    Rope
}

// Attend is paged causal attention with grouped heads: row r of sequence s at
// position p sees the keys at positions 0..p of s (p−Window+1..p with a window).
type Attend struct {
	Q, Out                  BufID // width Heads×HeadDim
	KV                      int
	Heads, KVHeads, HeadDim int
	Scale                   float32
	Window                  int // 0: none

	// Both is for atomic programs: rows also see what comes after them, and a
	// window reaches Window/2 tokens to either side.
	Both bool
}

// Act is an activation function.
type Act uint8

const (
	SiLU Act = iota
	GELU     // tanh form
)

// GateMul is Out = Act(Gate) × Up, value by value.
type GateMul struct {
	Gate, Up, Out BufID
	Act           Act
}

// AddTo is Dst += Src.
type AddTo struct {
	Dst, Src BufID
}

// TakeRows keeps the rows that want logits: Out has LogitRows.
type TakeRows struct {
	In, Out BufID
}

// Head is the final product: logits = W · In, float32, one row for each row of
// In, which has LogitRows.
type Head struct {
	In   BufID
	W    WeightID
	Bias WeightID // or NoWeight
}

func (Embed) Kind() string      { return "embed" }
func (Norm) Kind() string       { return "norm" }
func (Linear) Kind() string     { return "linear" }
func (RopeAppend) Kind() string { return "rope_append" }
func (Attend) Kind() string     { return "attend" }
func (GateMul) Kind() string    { return "gate_mul" }
func (AddTo) Kind() string      { return "add_to" }
func (TakeRows) Kind() string   { return "take_rows" }
func (Head) Kind() string       { return "head" }
