// Package backend is the narrow interface between the engine and what executes
// a program: devices that load weights, and runners that own the memory for one
// set of limits and run a batch a step.
package backend

import (
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// Tensor is one tensor of a model file as a backend sees it at load.
type Tensor struct {
	Name string
	Type quant.Type
	Rows int    // outputs: the product of all dimensions but the inner one
	Cols int    // inner dimension
	Data []byte // rows in order; only valid during the call that hands it out

	// Drop, which may be nil, says that Data[from:to] will not be read again once
	// the call is over, so that a mapped file's pages need not stay beside the
	// copy made of them.
	Drop func(from, to int)

	// Made is how many bytes of memory a Read takes for Data; 0: it views what is
	// there already.
	Made int64
}

// Source hands out the tensors of a model file. Read calls use once with the
// tensor's bytes; a fault while the calling goroutine touches them (a file cut
// short under a mapping) comes back as an error. Read is safe for concurrent
// use, also of one tensor.
type Source interface {
	// Info describes a tensor without touching its bytes: Data and Drop are nil.
	Info(tensor string) (Tensor, error)
	Read(tensor string, use func(Tensor) error) error
}

// Identified is a Source that can say which file it reads: the path, and a hash that
// changes when the bytes of a tensor may have. False where it can't.
type Identified interface {
	Identity() (path string, sum [32]byte, ok bool)
}

// Limits are what a runner's memory is made for.
type Limits struct {
	Rows      int // most token rows of one step
	Seqs      int // most sequences of one step
	LogitRows int // most rows that want logits in one step
	Pages     int // KV pages
	PageSize  int // tokens of a page: a multiple of 16
	Context   int // longest context of a sequence
	KVType    KVType
}

// PageCopy copies one KV page, all layers, before a step.
type PageCopy struct{ From, To int32 }

// Device is something that can run programs. Its methods are safe for
// concurrent use.
type Device interface {
	Name() string
	// Plan says what Load and NewRunner will take. It checks as Load does, as far
	// as descriptions go, touches no tensor's bytes and allocates nothing of their
	// size.
	Plan(p *prog.Program, src Source) (Plan, error)
	// Load checks that every weight of p is in src with a shape and format that
	// this device runs, and brings the weights into its own layout. progress,
	// which may be nil, is told of bytes done and in all, from the caller's goroutine.
	Load(p *prog.Program, src Source, progress func(done, total int64)) (Model, error)
	Close() error
}

// Memory is a Device with memory of its own, which what a Plan says is taken from.
type Memory interface {
	// Memory is what is available there in bytes, and whether that is known. Safe for
	// concurrent use.
	Memory() (available int64, known bool)
}

// SharedMemory is a Memory that may be the system's own, as that of integrated parts
// is: what is taken there, everything else on the machine lacks.
type SharedMemory interface {
	SharesSystemMemory() bool
}

// Sizes are the bytes of memory that a program takes. What is beyond an int64 is
// math.MaxInt64.
type Sizes interface {
	WeightBytes() int64
	// RunnerBytes is the memory that NewRunner would take: the KV cache and the
	// activation buffers, so that a caller can refuse before allocating.
	RunnerBytes(Limits) (kv, scratch int64)
}

// Plan is what a program will take once it is loaded. Its methods are safe for
// concurrent use.
type Plan interface {
	Sizes
	// WeightSize is the part of one weight in WeightBytes.
	WeightSize(prog.WeightID) int64
	// LoadBytes is what Load takes beside the weights while it is on.
	LoadBytes() int64
}

// LimitChecker is a Plan whose program can't have a runner of all limits.
type LimitChecker interface {
	// CheckLimits reports the first thing of l that the device does not run. Safe for
	// concurrent use.
	CheckLimits(l Limits) error
}

// Model is a loaded program: its weights, shared by any number of runners.
type Model interface {
	Sizes
	NewRunner(Limits) (Runner, error)
	Close() error
}

// PanelCached is a Model of a device that can keep the weights, as it lays them out,
// in a file that the next Load maps.
type PanelCached interface {
	// MappedBytes is the part of WeightBytes that lies in such a file: memory of the
	// system's cache, which processes share and the system may take back.
	MappedBytes() int64
	// PanelCache says what became of the file, and why; "" where none was asked for.
	PanelCache() (choice, why string)
	// GiveUpPanels stops the writing of the file and removes what there is of it:
	// Close, which waits a while for that, then has nothing to wait for.
	GiveUpPanels()
}

// Runner executes batches over its own KV cache. One goroutine uses it at a
// time.
type Runner interface {
	// CopyPages copies whole pages within the cache, in order.
	CopyPages(copies []PageCopy)
	// Run computes the batch and writes one row of Program.OutWidth values, the
	// logits or an embedding, for each entry of b.Logits, in order. A warm call allocates nothing.
	Run(b *prog.Batch, logits []float32) error
	Close() error
}
