package metrics

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// RecorderOptions configure a Recorder; the zero value is good.
type RecorderOptions struct {
	// Buckets are the bounds of the three gen_ai_server_* histograms; zero: one ladder for all three. SpecBuckets are the
	// semantic conventions' own. Bounds out of order make NewRecorder panic.
	Buckets Buckets

	// The labels of target_info. Empty: "paddock", the build's version, and a random UUID.
	ServiceName, ServiceVersion, ServiceInstanceID string

	// NativeHistograms gives the three gen_ai_server_* histograms native buckets beside the classic ones. Scrapers see them where they
	// ask for protobuf.
	NativeHistograms bool

	// Tracer, where given, makes a span for each request, with the GenAI attributes and its phases as events. A span is started on
	// the goroutine that brings the request and ended on one of the recorder's own: an exporter that blocks holds up no engine.
	Tracer trace.Tracer

	// NoMetrics records neither counters nor histograms nor rollups, and the page doesn't exist; events go on.
	NoMetrics bool

	// Events is the number of ended requests that the event ring remembers; 0: 4096, negative: no ring.
	Events int

	// StatLoggers are told what the engines do, with NoMetrics nothing; see StatLogger.
	StatLoggers []StatLogger
	LogInterval time.Duration // between two calls of a StatLogger's Log; 0: 10 s

	// Resource makes a registry that the recorder is registered on show target_info and process_start_time_seconds too. Handler
	// always shows them; on a caller's registry they would meet the caller's own.
	Resource bool

	// Logger gets the recorder's own faults; nil: slog.Default().
	Logger *slog.Logger

	test struct {
		now   func() time.Duration
		wall  func() time.Time
		ticks bool // with a now of its own, too
		build *build
		start float64
	}
}

// Recorder collects what engines and edges push and pulls the rest. It is a prometheus.Collector and a prometheus.Gatherer; its
// methods may be called from any number of goroutines at once. Make one with NewRecorder.
type Recorder struct {
	off       bool // no metrics; there may be events
	opts      RecorderOptions
	now       func() time.Duration
	log       *slog.Logger
	layout    *layout
	descs     []*prometheus.Desc // parallel to table
	succeeded *prometheus.Desc   // of the duration of a request that has no error_type
	process   processFacts
	inFlight  atomic.Int64
	faults    atomic.Uint64
	events    *eventRing // nil: none
	http      httpStats
	spans     spanQueue

	scrape  sync.Mutex // guards models and what scrapes own of each; no writer of observations takes it
	models  []*Model   // in the order of opening
	rollups rollups    // what the models did over time
	ticker  ticker     // of rollups and StatLoggers; runs while a model is open
	loggers []StatLogger
	vllm    sync.Once // turns the vLLM view on

	rejected [NumRejectReasons]uint64 // by engines that have closed: the sum over all never goes down
}

// Off records nothing: its models drop what is pushed, its page doesn't exist. Give it to an engine to run without metrics.
var Off = &Recorder{off: true, now: sinceStart}

// started is as near to the process's start as a library gets; all recorders' clocks count from it.
var started = time.Now()

// sinceStart is the monotonic clock. It is never 0, which in a Record means "not reached".
func sinceStart() time.Duration { return max(1, time.Since(started)) }

var defaultRecorder = sync.OnceValue(func() *Recorder { return NewRecorder(RecorderOptions{}) })

// Default returns the recorder that Handler shows and that engines use unless given another.
func Default() *Recorder { return defaultRecorder() }

// NewRecorder makes a recorder with no models. It panics for bucket bounds that are no ladder, which are a mistake in the
// program and not in its input.
func NewRecorder(o RecorderOptions) *Recorder {
	layout, err := newLayout(o.Buckets)
	if err != nil {
		panic(err)
	}
	r := &Recorder{opts: o, off: o.NoMetrics, now: o.test.now, log: o.Logger, layout: layout, events: newEventRing(o.Events)}
	r.loggers = append(r.loggers, o.StatLoggers...)
	if r.now == nil {
		r.now = sinceStart
	}
	r.process = newProcessFacts(&o)
	if !r.off {
		r.descs, r.succeeded = newDescs()
	}
	return r
}

// Now reads the clock that the stamps of a Record are on: monotonic, never 0.
func (r *Recorder) Now() time.Duration { return r.now() }

// wall is the time of day at a stamp of the recorder's clock.
func (r *Recorder) wall(at time.Duration) time.Time {
	now := time.Now
	if r.opts.test.wall != nil {
		now = r.opts.test.wall
	}
	return now().Add(at - r.now())
}

// Enabled says whether the recorder has metrics; false for Off, and with RecorderOptions.NoMetrics.
func (r *Recorder) Enabled() bool { return !r.off }

// InFlight adds n to the number of requests held at an edge or through the API: 1 when one is taken, -1 after its last byte.
func (r *Recorder) InFlight(n int) {
	if !r.off {
		r.inFlight.Add(int64(n))
	}
}

// Faults is how often metrics code failed and went on: a panicking Source, a record outside the lists. 0 in a sound program.
func (r *Recorder) Faults() uint64 { return r.faults.Load() }

// fault counts a failure of metrics code, and logs the 1st, 2nd, 4th, 8th…: a fault of every step must not fill a disk.
func (r *Recorder) fault(where string, err error) {
	n := r.faults.Add(1)
	if bits.OnesCount64(n) != 1 {
		return
	}
	log := r.log
	if log == nil {
		log = slog.Default()
	}
	log.Error("metrics: a fault was contained; serving goes on, numbers may be missing", "where", where, "error", err, "faults", n)
}

// guard, deferred, keeps a panic in metrics code from the caller.
func (r *Recorder) guard(where string) {
	if p := recover(); p != nil {
		r.fault(where, fmt.Errorf("panic: %v", p))
	}
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand's contract since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
