// Package paddock is an LLM serving engine that a Go program imports: no cgo, no
// child process.
//
// A caller gets three things and wires them into a server of their own: an
// Engine (tokens out), a Scheduler (who runs next) and a MetricsHandler (what
// happened).
//
//	eng, err := paddock.Open("qwen3-0.6b-q8_0.gguf", paddock.Options{})
//	if err != nil { … }
//	defer eng.Close()
//	mux.Handle("/metrics", metrics.Handler())
//	mux.Handle("/v1/", paddock.NewHandler(eng))
//	for tok, err := range eng.Generate(ctx, paddock.Request{Prompt: "Once upon a time"}) { … }
//
// Many requests run at once through continuous batching over a paged KV cache in
// which equal prefixes are shared. On the CPU a request's answer is the same
// bits whoever else is being served.
package paddock

import (
	"io/fs"
	"net/http"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/api"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// The main types, under the names that most programs need. Their packages hold
// the rest.
type (
	Engine         = engine.Engine
	Options        = engine.Options
	Spec           = engine.Spec
	Progress       = engine.Progress
	Request        = engine.Request
	Sampling       = engine.Sampling
	Message        = engine.Message
	ToolCall       = engine.ToolCall
	Stream         = engine.Stream
	Token          = engine.Token
	TokenLogprob   = engine.TokenLogprob
	Result         = engine.Result
	EmbedRequest   = engine.EmbedRequest
	Embeddings     = engine.Embeddings
	RerankRequest  = engine.RerankRequest
	Ranking        = engine.Ranking
	Answer         = engine.Answer
	Usage          = engine.Usage
	FinishReason   = engine.FinishReason
	Device         = engine.Device
	KVType         = engine.KVType
	Card           = engine.Card
	Scheduler      = sched.Scheduler
	Limits         = sched.Limits
	MetricsHandler = metrics.MetricsHandler
	HandlerOptions = api.Options
)

// Why a choice ended.
const (
	FinishNone         = engine.FinishNone
	FinishStop         = engine.FinishStop
	FinishLength       = engine.FinishLength
	FinishStopSequence = engine.FinishStopSequence
)

// How the weights of a folder of safetensors are held.
const (
	WeightsKept = engine.WeightsKept
	WeightsQ8_0 = engine.WeightsQ8_0
)

// What keys and values are rounded to in the KV cache.
const (
	KVF16  = engine.KVF16
	KVF32  = engine.KVF32
	KVBF16 = engine.KVBF16
	KVQ8_0 = engine.KVQ8_0
)

// Errors to branch on with errors.Is; the typed ones, for errors.As, are below.
var (
	ErrClosed   = engine.ErrClosed
	ErrDraining = engine.ErrDraining
	ErrStalled  = engine.ErrStalled
	ErrNoChat   = engine.ErrNoChat
	ErrAborted  = engine.ErrAborted

	// What a model was asked that it does not do.
	ErrNoText       = engine.ErrNoText
	ErrNoEmbeddings = engine.ErrNoEmbeddings
	ErrNoRanking    = engine.ErrNoRanking
)

// Errors with numbers in them, for errors.As.
type (
	RequestError   = engine.RequestError
	ContextError   = engine.ContextError
	PagesError     = engine.PagesError
	QueueFullError = engine.QueueFullError
	DeviceError    = engine.DeviceError
	TokenError     = engine.TokenError
	EmbeddingError = engine.EmbeddingError
	MemoryError    = engine.MemoryError
	OptionsError   = engine.OptionsError
)

// What Open refuses a file with, for errors.As.
type (
	FormatError   = engine.FormatError   // the file's form: counts, lengths, types of values
	SplitError    = engine.SplitError    // the parts of a split file: missing, of another set, too many or too few
	FolderError   = engine.FolderError   // a folder's config.json and what its tensors are called
	TensorsError  = engine.TensorsError  // the form of safetensors
	ArchError     = engine.ArchError     // an architecture that is not supported
	KeyError      = engine.KeyError      // a value of the metadata
	ShapeError    = engine.ShapeError    // a tensor that is missing or of another shape
	WeightError   = engine.WeightError   // a tensor in a format that is not supported
	VocabError    = engine.VocabError    // the tokenizer's vocabulary
	TemplateError = engine.TemplateError // the chat template
)

// Open loads the model file at path and serves it. See engine.Open.
func Open(path string, o Options) (*Engine, error) { return engine.Open(path, o) }

// OpenFS loads a model file from a file system, such as an embedded one.
func OpenFS(fsys fs.FS, name string, o Options) (*Engine, error) {
	return engine.OpenFS(fsys, name, o)
}

// NewHandler is the OpenAI-shaped HTTP API over an engine, to mount at "/v1/" of
// a mux, or at "/" to have /healthz and /readyz too. It asks for no key; see
// NewHandlerWith. Safe for concurrent use.
func NewHandler(e *Engine) http.Handler { return api.New(e, api.Options{}) }

// NewHandlerWith is NewHandler with options: an API key, further model names.
func NewHandlerWith(e *Engine, o HandlerOptions) http.Handler { return api.New(e, o) }

// Guard puts a handler of the caller's own behind the same rule of access that
// NewHandlerWith applies to the API with these options.
func Guard(o HandlerOptions, next http.Handler) http.Handler { return api.Guard(o, next) }
