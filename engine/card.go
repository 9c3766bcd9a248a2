package engine

import "github.com/paddock-go/paddock/metrics"

// Card describes an open model: what its file holds, what it takes, and what Open
// chose for it and why. It is plain data. Sizes are bytes.
type Card struct {
	Name  string // as metrics and API have it
	Arch  string // as the file names it
	Title string // general.name of the file; "": none
	Size  string // about how many parameters, as people say it: "1.2B"
	File  FileCard

	Params       int64 // weights, each counted once; tables of rotary factors are none
	ActiveParams int64 // those that a token goes through: less than Params where there are experts

	FileContext int    // tokens, as the file states it
	Context     int    // the engine's
	ContextWhy  string // what set it

	Vocab     int
	Tokenizer string // its kind; "": the file has none, and requests bring tokens
	Template  bool   // there is a chat template
	Serves    []metrics.Operation

	Dims    Dims
	Formats []FormatCard // of the weights, the most bytes in memory first
	Memory  MemoryCard
	KV      KVCard
	Choices []Choice // what Open chose, in the order of the choices
	Notes   []string // what of a folder is not used
}

// FileCard is what a model was read from.
type FileCard struct {
	Kind  string // "GGUF", "split GGUF", "folder of safetensors"
	Parts int    // files of a split one; 1: not split
	Bytes int64  // of header and tensors; of a folder as it is held
}

// Dims are a model's sizes.
type Dims struct {
	Layers, Embd      int // Embd: width of the stream
	Heads, KVHeads    int
	HeadDim, ValueDim int // of a query or key, of a value
	FFN               int // width between gate and down
	Experts, Used     int // of a layer, and of those a token's; 0: none
	Window            int // tokens that a windowed layer sees; 0: no layer has one
}

// FormatCard is the weights of one format.
type FormatCard struct {
	Format      string // as GGUF names it, small letters
	Tensors     int
	FileBytes   int64 // in the file; of a folder, as read from it
	MemoryBytes int64 // as the device lays them out
}

// MemoryCard is what a model takes.
type MemoryCard struct {
	Weights, KV, Scratch int64
	Load                 int64 // at most, beside Weights, while it was loaded
	Available            int64 // before it was opened; 0: not known
	Mapped               int64 // of Weights: a file's pages (Options.PanelCache), shared with other processes
}

// KVCard is the cache of keys and values.
type KVCard struct {
	Type        KVType // of its elements
	PerToken    int64  // all layers
	Groups      []KVGroup
	Pages       int
	PageTokens  int
	TotalTokens int // that the pages hold
}

// KVGroup is the layers whose keys and values have one shape and window.
type KVGroup struct {
	Layers   int
	Window   int   // tokens; 0: all are seen
	PerToken int64 // all of these layers
}

// Choice is something that Open settled.
type Choice struct{ What, Choice, Why string }

// Model describes the model. The caller may keep the card, and must not change what
// its slices hold.
func (e *Engine) Model() Card { return e.card }
