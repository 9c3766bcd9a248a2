package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// Device is something that runs models: the CPU when Options names none, GPUs
// from package engine/cuda.
type Device = backend.Device

// KVType is the element type of the KV cache. It has a name, as flags write it, in both
// directions (encoding.TextMarshaler).
type KVType = backend.KVType

// Element types of the KV cache. KVF16 and KVBF16 take half of the memory of KVF32,
// KVQ8_0 little more than a quarter, and attention over long contexts takes as much
// less time as it reads less.
const (
	KVF16  = backend.KVF16  // 11 bits of precision; beyond 65504 a key or value is infinite: its request ends with an error where that makes a logit no number
	KVF32  = backend.KVF32  // as computed
	KVBF16 = backend.KVBF16 // 8 bits of precision, the range of float32
	KVQ8_0 = backend.KVQ8_0 // 8 bits a value and a scale for each 32 values of a head
)

// Weights says in what format the matrices of a folder of safetensors are held. GGUF
// files are loaded as they are.
type Weights uint8

// Formats of weights.
const (
	WeightsKept Weights = iota // F32, F16, BF16 and MXFP4 as they are, FP8 as F32
	WeightsQ8_0                // 8 bits and a scale for each 32 values; MXFP4, and rows that are no multiple of 32, are kept
)

// Spec turns speculation on. The zero value is off.
type Spec struct {
	// NGram is the most tokens that are drafted at once by looking the latest ones
	// up in prompt and output; 0: no drafts. At most sched.MaxDraft. Drafts never
	// change an answer, only how many steps it takes.
	NGram int
}

// Progress tells how far Open is.
type Progress struct {
	Done, Total int64 // bytes of weights
}

// Options say how a model is opened. The zero value serves on the CPU with all
// of its cores. They are copied by Open and not looked at again.
type Options struct {
	Name       string   // the label of the model's metrics and its name in the API; "": the file's name without its ending
	Devices    []Device // the first of them that can run the model and has the memory takes it; none: the CPU
	Threads    int      // CPU workers; 0: as many as the process may use
	MaxContext int      // most tokens of prompt and answer, never more than the model allows; 0: what the model allows
	KVPages    int      // pages of 16 tokens in the KV cache; 0: enough for Limits.MaxSequences full contexts, within memory
	KVType     KVType   // what keys and values are rounded to in the cache; zero: KVF16. Of texts that are one step (encoders) nothing is kept: they stay float32
	Weights    Weights

	Limits       sched.Limits     // of a step, and of the queue
	Scheduler    *sched.Scheduler // a scheduler of the caller's own making for this engine alone, unused so far; Limits, KVPages and StallTimeout are then its business and must not be set here
	Spec         Spec
	StallTimeout time.Duration // after which an unread stream is ended; 0: 30 s

	// ResidencySample is the share of the KV pages, from 0 (none) to 1 (all), whose
	// residency is observed: how long their content stayed, and how it was used. It
	// costs about 80 bytes a page of the pool.
	ResidencySample float64

	Metrics  *metrics.Recorder // nil: the default one; metrics.Off: none
	Logger   *slog.Logger      // nil: nothing is logged
	Progress func(Progress)    // called while weights are loaded, from Open's goroutine; nil: nobody is told
	NoAMX    bool              // never use the tile unit

	// PanelCache is a folder where the CPU keeps weights as it lays them out, one file
	// for each GGUF file's path, as large as MemoryCard.Weights and written while the
	// model serves already. Close waits for it, 5 s at most: what is not written then is
	// removed, with a line in the log, and the next Open writes it again. The next Open of
	// the unchanged file maps it: nothing is packed, and processes share its pages. A copy is another file, whatever its times, and so is one whose mode or owner
	// was changed. What is in the folder is checked, ignored with a line in the log where
	// it doesn't fit, and replaced; nothing else in it is deleted but .panels-*.tmp, which
	// a process has left that was killed. It must be as trusted as the model files. "": none. It is
	// for Linux, and for files that are opened by their path.
	PanelCache string

	available func() (int64, bool) // memory in bytes and whether that is known: a device's own, or a test's; nil: as the system says
	ownMemory bool                 // it is a device's own
}

// OptionsError lists what is wrong with Options.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return fmt.Sprintf("engine: options: %v", e.Err) }
func (e *OptionsError) Unwrap() error { return e.Err }

// withDefaults checks all fields and fills in what does not depend on the model.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	for _, f := range []struct {
		name     string
		value    int
		min, max int
	}{
		{"Threads", o.Threads, 0, 1024},
		{"MaxContext", o.MaxContext, 0, 1 << 24},
		{"KVPages", o.KVPages, 0, 1 << 26},
		{"Spec.NGram", o.Spec.NGram, 0, sched.MaxDraft},
	} {
		if f.value < f.min || f.value > f.max {
			errs = append(errs, fmt.Errorf("%s is %d, must be between %d and %d", f.name, f.value, f.min, f.max))
		}
	}
	for i, d := range o.Devices {
		if d == nil {
			errs = append(errs, fmt.Errorf("entry %d of Devices is nil", i))
		}
	}
	if o.PanelCache != "" && len(o.Devices) > 0 {
		errs = append(errs, errors.New("PanelCache is for the CPU, and Devices names another; set one of them"))
	}
	if !o.KVType.Known() {
		errs = append(errs, fmt.Errorf("the KVType is %d, must be KVF16 (%d), KVF32 (%d), KVBF16 (%d) or KVQ8_0 (%d)", uint8(o.KVType), KVF16, KVF32, KVBF16, KVQ8_0))
	}
	if o.Weights > WeightsQ8_0 {
		errs = append(errs, fmt.Errorf("the Weights are %d, WeightsKept (%d) and WeightsQ8_0 (%d) are known", o.Weights, WeightsKept, WeightsQ8_0))
	}
	if o.StallTimeout < 0 {
		errs = append(errs, fmt.Errorf("the StallTimeout is %v, must not be negative", o.StallTimeout))
	}
	if !(o.ResidencySample >= 0 && o.ResidencySample <= 1) { // also a NaN
		errs = append(errs, fmt.Errorf("the ResidencySample is %v, must be between 0 and 1", o.ResidencySample))
	}
	if err := o.Limits.Validate(); err != nil {
		errs = append(errs, err)
	}
	if o.Scheduler != nil && (o.Limits != sched.Limits{} || o.KVPages != 0 || o.StallTimeout != 0) {
		errs = append(errs, errors.New("a Scheduler brings Limits, KVPages and StallTimeout with it; set them when it is made, not here"))
	}
	if len(errs) > 0 {
		return o, &OptionsError{errors.Join(errs...)}
	}
	if o.StallTimeout != 0 {
		o.Limits.StallTimeout = o.StallTimeout
	}
	if o.Metrics == nil {
		o.Metrics = metrics.Default()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
