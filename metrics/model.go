package metrics

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// Model is a loaded model's handle: what an engine and its edges push to. Its methods may be called from any number of
// goroutines at once; a nil *Model, and a model of [Off], record nothing.
type Model struct {
	name            string
	rec             *Recorder
	source          Source
	serves          [NumOperations]bool
	ledger          *ledger // nil: no metrics
	closing, closed atomic.Bool
	pending         atomic.Int64 // records that have begun and aren't finished
	index           int          // among the recorder's open models: the least that was free
	opened          time.Time

	vllm      atomic.Pointer[vllmBook]   // nil: no vLLM view
	observers atomic.Pointer[[]Observer] // of the StatLoggers; nil: none

	// Label pairs, shared by all pages.
	label *dto.LabelPair
	base  [NumOperations][NumOrigins][]*dto.LabelPair

	last   Snapshot     // of the newest scrape; guarded by rec.scrape, as is rollup
	rollup *modelRollup // nil: not open
}

var _ Observer = (*Model)(nil)

// DuplicateModelError is returned by OpenModel for a name that a live model of the recorder has.
type DuplicateModelError struct{ Name string }

func (e *DuplicateModelError) Error() string {
	return fmt.Sprintf("metrics: a live model is already named %q on this recorder; close it, give the second one another name, or use another recorder", e.Name)
}

// maxModelName bounds a model's name, which stands on every line of its series.
const maxModelName = 256

// OpenModel puts a model on the page: its series exist at 0 from now on, for each operation in serves and each origin. The name
// is the label gen_ai_request_model and model; it must be 1 to 256 bytes of UTF-8. source may be nil for a model without an
// engine: then only what requests push has series. It may be read before OpenModel has returned. A live model of the same name is a *DuplicateModelError.
func (r *Recorder) OpenModel(name string, serves []Operation, source Source) (*Model, error) {
	if name == "" || len(name) > maxModelName || !utf8.ValidString(name) {
		return nil, fmt.Errorf("metrics: model name %.64q has %d bytes; give 1 to %d bytes of UTF-8", name, len(name), maxModelName)
	}
	m := &Model{name: name, rec: r, source: source}
	for _, op := range serves {
		if int(op) >= NumOperations {
			return nil, fmt.Errorf("metrics: model %q serves operation %d, which is none of the %d", name, op, NumOperations)
		}
		m.serves[op] = true
	}
	if r.off {
		return m, nil
	}
	m.label = pair("model", name)
	request := pair("gen_ai_request_model", name)
	for op := range NumOperations {
		for or := range NumOrigins {
			m.base[op][or] = []*dto.LabelPair{operationPairs[op], providerPair, request, originPairs[or]}
		}
	}
	m.ledger = newLedger(r.layout, new(gate))
	m.ledger.traced(r)

	r.scrape.Lock()
	defer r.scrape.Unlock()
	taken := make(map[int]bool, len(r.models))
	for _, live := range r.models {
		if live.name == name {
			return nil, &DuplicateModelError{Name: name}
		}
		taken[live.index] = true
	}
	for taken[m.index] {
		m.index++
	}
	m.opened = r.wall(r.now())
	m.pull() // StatLoggers are told its context
	for _, l := range r.loggers {
		m.observe(l)
	}
	r.models = append(r.models, m)
	r.opened(m)
	return m, nil
}

// Name returns the model's label.
func (m *Model) Name() string {
	if m == nil {
		return ""
	}
	return m.name
}

// Recorder returns the recorder that the model is open on; Off for a nil model.
func (m *Model) Recorder() *Recorder {
	if m == nil {
		return Off
	}
	return m.rec
}

// Close takes the model's series off the page and frees its name. When it returns, the source isn't read any more and won't be
// again. Requests whose edges are about to finish them are waited for, at most a second, so that rollups and StatLoggers have them.
// Closing twice, and pushing to a closed model, do nothing.
func (m *Model) Close() error {
	if m == nil || m.rec.off || m.closing.Swap(true) {
		return nil
	}
	for tries := 0; m.pending.Load() > 0 && tries < 1000; tries++ {
		time.Sleep(time.Millisecond)
	}
	m.closed.Store(true)
	r := m.rec
	r.scrape.Lock()
	defer r.scrape.Unlock()
	for i, live := range r.models {
		if live == m {
			m.pull() // its last numbers
			for reason, n := range m.last.Rejected {
				r.rejected[reason] += n
			}
			r.models = append(r.models[:i:i], r.models[i+1:]...)
			r.closing(m)
			break
		}
	}
	return nil
}

// enter lets a writer into the hot half; leave must follow with the same half.
func (m *Model) enter() (entry, int) {
	half := m.ledger.gate.enter()
	return m.ledger.in(half), half
}

// Step records one executed step. It allocates nothing, takes no lock, and keeps nothing of s.
func (m *Model) Step(s *StepStats) {
	if m == nil || m.ledger == nil || s == nil {
		return
	}
	m.countStep(s)
	m.tellStep(s)
}

// countStep adds a step to the histograms.
func (m *Model) countStep(s *StepStats) {
	defer m.rec.guard("step")
	e, half := m.enter()
	defer m.ledger.gate.leave(half)
	e.observe1(0, hStepTokens, uint64(max(0, s.Tokens)))
	e.observe1(0, hStepTime, nanos(s.Took))
	for i := range s.Residency {
		p := &s.Residency[i]
		e.observe1(0, hPageLifetime, nanos(p.Lifetime))
		e.observe1(0, hPageIdle, nanos(p.Idle))
		for _, g := range p.Gaps[:min(max(0, p.NGaps), len(p.Gaps))] {
			e.observe1(0, hPageGap, nanos(g))
		}
	}
	for i := range s.Gaps {
		g := &s.Gaps[i]
		if g.N <= 0 || !known(g.Operation, g.Origin) {
			continue
		}
		sum, n := nanos(g.Gap), uint64(g.N)
		e.observe(e.base(g.Operation, g.Origin), hGap, sum/n, n, sum)
	}
	if v := m.vllm.Load(); v != nil {
		v.step(half, s)
	}
}

// Begin takes rec as a request of m: it sets Model, stamps Arrival unless an edge has, and counts the request as in flight until
// Finish. The trace is that of rec, else of ctx's OpenTelemetry span. It returns ctx with rec in it and, where the recorder has a
// tracer, the request's span. For a record that has begun it only returns ctx. The caller owns rec.
func (m *Model) Begin(ctx context.Context, rec *Record) context.Context {
	if m == nil || rec == nil || rec.begun.Swap(true) {
		return ctx
	}
	rec.Model = m
	if rec.Arrival == 0 {
		rec.Arrival = m.rec.Now()
	}
	if rec.Edge && rec.ID == "" {
		rec.ID = newID()
	}
	m.pending.Add(1)
	m.rec.InFlight(1)
	if FromContext(ctx) != rec {
		ctx = NewContext(ctx, rec)
	}
	return m.rec.startSpan(ctx, rec)
}

// Finish records the end of a request, once: a second call with the same record does nothing. A record that has begun is recorded
// under the model that it is of, whichever m is. It stamps Finished if nobody
// did. It allocates nothing but for a span's end, takes no lock that a scrape takes, and keeps nothing of rec but the strings that events show. A
// request that failed before it reached the engine (Fail set, no stamps but Arrival) is recorded under the model that owns its route.
func (m *Model) Finish(rec *Record) {
	if rec == nil {
		return
	}
	if rec.begun.Load() {
		m = rec.Model
	}
	if m != nil && rec.held.finish() {
		m.finish(rec)
	}
}

// finish records the end of a request, of which the caller has made sure that it is recorded nowhere else.
func (m *Model) finish(rec *Record) {
	defer m.rec.guard("finish")
	if rec.begun.Load() {
		m.rec.InFlight(-1) // before an event tells of its end
		defer m.pending.Add(-1)
	}
	if rec.Finished == 0 {
		rec.Finished = m.rec.Now()
	}
	defer m.rec.endSpan(rec) // whatever happens: what was started is ended
	if !known(rec.Operation, rec.Origin) || int(rec.Fail) >= NumFailReasons || int(rec.Finish) >= numFinishReasons {
		m.rec.fault("finish", fmt.Errorf("operation %d, origin %d, fail %d, finish %d: outside their lists",
			rec.Operation, rec.Origin, rec.Fail, rec.Finish))
		return
	}
	m.count(rec)
	m.tellFinish(rec)
	m.rec.events.push(m.rec, m, rec)
}

// count adds an ended request to the histograms and outcomes.
func (m *Model) count(rec *Record) {
	if m.ledger == nil {
		return
	}
	defer m.rec.guard("finish")
	e, half := m.enter()
	defer m.ledger.gate.leave(half)
	base := e.base(rec.Operation, rec.Origin)
	e.outcome(base, rec)
	e.phases(base, rec)
	if rec.Queued != 0 { // sizes of what reached the engine; a refusal at the edge has none
		e.observe1(base, hPromptTokens, uint64(max(0, rec.PromptTokens)))
		e.observe1(base, hTokens, uint64(max(0, rec.GeneratedTokens)))
	}
	if v := m.vllm.Load(); v != nil {
		v.finish(half, rec)
	}
}

// outcome records the duration, and success or failure; latencies of tokens for a success only.
func (e entry) outcome(base int, rec *Record) {
	duration := nanos(rec.Finished - rec.Arrival)
	if rec.Fail != NoFail {
		e.observeTraced(base, hDuration+histID(fails[rec.Fail].errorType), duration, rec)
		e.cells[base+e.failure+int(rec.Fail)].Add(1)
		return
	}
	e.observeTraced(base, hDuration, duration, rec)
	e.cells[base+e.success+int(max(rec.Finish, Stop))].Add(1)
	for i := range rec.Choices {
		c := &rec.Choices[i]
		if c.Tokens >= 1 {
			e.observeTraced(base, hFirstToken, nanos(c.First-rec.Arrival), rec)
		}
		if c.Tokens >= 2 {
			e.observeTraced(base, hPerToken, nanos(c.Last-c.First)/uint64(c.Tokens-1), rec)
		}
	}
}

// phases records where the time of a request went, as far as it got: a phase that the end cut short counts up to the end, one
// that never began doesn't count.
func (e entry) phases(base int, rec *Record) {
	if rec.Queued == 0 {
		return
	}
	e.observe1(base, hQueue, nanos(orEnd(rec.Scheduled, rec.Finished)-rec.Queued))
	if rec.Scheduled == 0 {
		return
	}
	e.observe1(base, hPrefill, nanos(orEnd(rec.First, rec.Finished)-rec.Scheduled))
	if rec.First == 0 {
		return
	}
	e.observe1(base, hDecode, nanos(rec.Last-rec.First))
}

// orEnd is a stamp, or the end where the stamp is missing.
func orEnd(stamp, end time.Duration) time.Duration {
	if stamp != 0 {
		return stamp
	}
	return end
}

// nanos is d for a histogram: stamps out of order are a caller's mistake that must not wrap.
func nanos(d time.Duration) uint64 { return uint64(max(0, d)) }

func known(op Operation, or Origin) bool { return int(op) < NumOperations && int(or) < NumOrigins }
