package metrics

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// fakeTracer makes spans that remember all they were told. It is no more of an SDK than these tests need.
type fakeTracer struct {
	embedded.Tracer
	mu    sync.Mutex
	spans []*fakeSpan
	block chan struct{} // End waits for a value; nil: it doesn't
	panic string        // "start" or "end"
}

func (t *fakeTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t.panic == "start" {
		panic("start")
	}
	c := trace.NewSpanStartConfig(opts...)
	parent := trace.SpanContextFromContext(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := byte(len(t.spans) + 1)
	id := parent.TraceID()
	if !id.IsValid() {
		id = trace.TraceID{0xee, n}
	}
	s := &fakeSpan{tracer: t, name: name, parent: parent, kind: c.SpanKind(), start: c.Timestamp(), attrs: attrsOf(c.Attributes()),
		own: trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{0xdd, n}, TraceFlags: parent.TraceFlags()})}
	t.spans = append(t.spans, s)
	return trace.ContextWithSpan(ctx, s), s
}

type fakeSpan struct {
	embedded.Span
	tracer     *fakeTracer
	name       string
	parent     trace.SpanContext
	own        trace.SpanContext
	kind       trace.SpanKind
	start, end time.Time
	attrs      map[string]string
	events     []string // name, time since start, attributes
	status     codes.Code
	ended      int
}

func attrsOf(list []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		m[string(kv.Key)] = kv.Value.String()
	}
	return m
}

func (s *fakeSpan) End(opts ...trace.SpanEndOption) {
	if s.tracer.block != nil {
		<-s.tracer.block
	}
	c := trace.NewSpanEndConfig(opts...)
	s.end = c.Timestamp()
	s.ended++
	if s.tracer.panic == "end" {
		panic("end")
	}
}
func (s *fakeSpan) AddEvent(name string, opts ...trace.EventOption) {
	c := trace.NewEventConfig(opts...)
	s.events = append(s.events, fmt.Sprint(name, " ", c.Timestamp().Sub(s.start), " ", attrsOf(c.Attributes())))
}
func (s *fakeSpan) SetAttributes(list ...attribute.KeyValue) { maps.Copy(s.attrs, attrsOf(list)) }
func (s *fakeSpan) SetStatus(c codes.Code, _ string)         { s.status = c }
func (s *fakeSpan) SpanContext() trace.SpanContext           { return s.own }
func (s *fakeSpan) IsRecording() bool                        { return true }
func (s *fakeSpan) SetName(string)                           {}
func (s *fakeSpan) AddLink(trace.Link)                       {}
func (s *fakeSpan) RecordError(error, ...trace.EventOption)  {}
func (s *fakeSpan) TracerProvider() trace.TracerProvider     { return nil }

// noon is where the test's clock stands at 90 s of the recorder's.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func tracedRecorder(t *testing.T, tracer *fakeTracer) (*Recorder, *Model) {
	o := RecorderOptions{}
	if tracer != nil {
		o.Tracer = tracer
	}
	o.test.wall = func() time.Time { return noon }
	r := newTestRecorder(o)
	return r, mustOpen(t, r, "m", nil, Chat)
}

func flush(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.FlushSpans(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestSpanOfASuccess(t *testing.T) {
	tracer := &fakeTracer{}
	r, m := tracedRecorder(t, tracer)
	rec := finished(Chat, Batch, 5)
	rec.MaxTokens, rec.ID, rec.Preemptions, rec.KVPages, rec.Tokenizing = 7, "req-1", 2, 9, 3*ms
	rec.Choices[0].Finish, rec.Finish = Length, Length
	ctx := m.Begin(context.Background(), rec)
	s := tracer.spans[0]
	if trace.SpanFromContext(ctx) != s || FromContext(ctx) != rec {
		t.Error("the context has neither span nor record")
	}
	if rec.TraceID != s.own.TraceID() || rec.SpanID != s.own.SpanID() {
		t.Errorf("the record is of trace %x, span %x", rec.TraceID, rec.SpanID)
	}
	m.Finish(rec)
	flush(t, r)
	if s.name != "chat m" || s.kind != trace.SpanKindInternal || s.status != codes.Unset || s.ended != 1 {
		t.Errorf("span %q of kind %v, status %v, ended %d times", s.name, s.kind, s.status, s.ended)
	}
	if want := noon.Add(-89 * time.Second); !s.start.Equal(want) || !s.end.Equal(want.Add(rec.Finished-rec.Arrival)) {
		t.Errorf("from %v to %v", s.start, s.end)
	}
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "paddock", "gen_ai.request.model": "m", "gen_ai.response.model": "m",
		"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "5", "gen_ai.response.finish_reasons": `["length"]`,
		"gen_ai.request.max_tokens": "7", "paddock.origin": "batch", "paddock.cached_tokens": "32", "paddock.preemptions": "2",
		"paddock.draft_tokens": "0", "paddock.accepted_tokens": "0", "paddock.kv_pages": "9", "paddock.tokenizing_seconds": "0.003",
		"paddock.request_id": "req-1",
	}
	if !maps.Equal(s.attrs, want) {
		t.Errorf("attributes\n%v, want\n%v", s.attrs, want)
	}
	if want := []string{ // queued 2 ms after arrival, scheduled at 20, the first token at 100, the last at 140
		"queue 2ms map[paddock.phase_seconds:0.018]",
		"prefill 20ms map[paddock.phase_seconds:0.08]",
		"decode 100ms map[paddock.phase_seconds:0.04]",
	}; !slices.Equal(s.events, want) {
		t.Errorf("events\n%q, want\n%q", s.events, want)
	}
}

func TestSpanOfAFailure(t *testing.T) {
	tracer := &fakeTracer{}
	r, m := tracedRecorder(t, tracer)
	rec := finished(Chat, Live, 3)
	rec.Fail, rec.Finish, rec.Edge, rec.Status, rec.Route = Disconnect, NoFinish, true, 200, "POST /v1/chat/completions"
	rec.Open(3)
	rec.Choices[1].Finish = StopSequence
	refused := &Record{Operation: Chat, Fail: Unauthorized, Arrival: time.Second, Edge: true}
	strange := &Record{Operation: 99, Arrival: time.Second}
	for _, rec := range []*Record{rec, refused, strange} {
		m.Begin(context.Background(), rec)
		m.Finish(rec)
		m.Finish(rec)
	}
	flush(t, r)
	s := tracer.spans[0]
	if s.kind != trace.SpanKindServer || s.status != codes.Error {
		t.Errorf("kind %v, status %v", s.kind, s.status)
	}
	for key, want := range map[string]string{
		"error.type": "disconnect", "paddock.fail_reason": "disconnect", "gen_ai.response.finish_reasons": `["stop_sequence"]`,
		"gen_ai.request.choice.count": "3", "http.response.status_code": "200", "http.route": "POST /v1/chat/completions",
	} {
		if s.attrs[key] != want {
			t.Errorf("%s is %q, want %q", key, s.attrs[key], want)
		}
	}
	if s := tracer.spans[1]; s.attrs["error.type"] != "401" || len(s.events) != 0 || s.ended != 1 || s.attrs["gen_ai.response.finish_reasons"] != "" {
		t.Errorf("of a refusal: %v, %q, ended %d times", s.attrs, s.events, s.ended)
	}
	if s := tracer.spans[2]; s.ended != 1 || r.Faults() != 1 {
		t.Errorf("of a record outside the lists: ended %d times, %d faults", s.ended, r.Faults())
	}
}

// The parent is the span of the context, else the caller's of traceparent; exemplars and events get the ids of the request's own
// span, or without a tracer those of the context.
func TestSpanParents(t *testing.T) {
	sent := trace.TraceID{1, 2, 3}
	caller := trace.SpanID{4, 5}
	outer := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceFlags: trace.FlagsSampled})
	within := trace.ContextWithSpanContext(context.Background(), outer)
	type ids struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	for _, c := range []struct {
		name      string
		ctx       context.Context
		rec       ids
		unsampled bool
		parent    trace.SpanID
		trace     trace.TraceID
		sampled   bool
		without   ids // what the record says where there is no tracer
	}{
		{"neither", context.Background(), ids{}, false, trace.SpanID{}, trace.TraceID{0xee, 1}, false, ids{}},
		{"traceparent", context.Background(), ids{sent, caller}, false, caller, sent, true, ids{sent, caller}},
		{"unsampled", context.Background(), ids{sent, caller}, true, caller, sent, false, ids{sent, caller}},
		{"context", within, ids{}, false, outer.SpanID(), outer.TraceID(), true, ids{outer.TraceID(), outer.SpanID()}},
		{"both", within, ids{sent, caller}, false, outer.SpanID(), outer.TraceID(), true, ids{sent, caller}},
	} {
		tracer := &fakeTracer{}
		r, m := tracedRecorder(t, tracer)
		rec := &Record{Operation: Chat, TraceID: c.rec.trace, SpanID: c.rec.span, Unsampled: c.unsampled}
		m.Begin(c.ctx, rec)
		s := tracer.spans[0]
		if s.parent.SpanID() != c.parent || s.parent.IsRemote() != (c.ctx != within && c.parent.IsValid()) || s.own.IsSampled() != c.sampled {
			t.Errorf("%s: the parent is %v", c.name, s.parent)
		}
		if rec.TraceID != c.trace || rec.SpanID != s.own.SpanID() {
			t.Errorf("%s: the record is of trace %x, span %x", c.name, rec.TraceID, rec.SpanID)
		}
		m.Finish(rec)
		flush(t, r)

		_, m = tracedRecorder(t, nil)
		rec = &Record{Operation: Chat, TraceID: c.rec.trace, SpanID: c.rec.span}
		if m.Begin(c.ctx, rec); rec.TraceID != c.without.trace || rec.SpanID != c.without.span {
			t.Errorf("%s, no tracer: the record is of trace %x, span %x", c.name, rec.TraceID, rec.SpanID)
		}
		m.Finish(rec)
	}
}

// The flags of a traceparent header decide whether a span that continues it is recorded.
func TestSpanFollowsTraceparent(t *testing.T) {
	for header, want := range map[string]bool{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": true,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03": true,
	} {
		tracer := &fakeTracer{}
		r, m := tracedRecorder(t, tracer)
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		req.Header.Set("traceparent", header)
		rec := r.NewRecord(req)
		m.Begin(req.Context(), rec)
		s := tracer.spans[0]
		if s.parent.IsSampled() != want || !s.parent.IsRemote() || s.own.TraceID().String() != header[3:35] || s.parent.SpanID().String() != header[36:52] {
			t.Errorf("%s: parent %v", header, s.parent)
		}
		m.Finish(rec)
		flush(t, r)
	}
}

// An exporter that blocks holds up nobody; what doesn't fit the queue is given up and is a fault.
func TestBlockingExporterHoldsUpNobody(t *testing.T) {
	tracer := &fakeTracer{block: make(chan struct{})}
	r, m := tracedRecorder(t, tracer)
	const requests = 3 * maxSpans
	for range requests {
		rec := &Record{Operation: Chat}
		m.Begin(context.Background(), rec)
		m.Finish(rec) // would hang here
	}
	// Not all faults: the goroutine took some off the queue before its first End blocked.
	lost := int(r.Faults())
	if lost < requests-2*maxSpans || lost > requests-maxSpans {
		t.Errorf("%d of %d spans were given up, a queue holds %d", lost, requests, maxSpans)
	}
	if size := 2 * maxSpans * unsafe.Sizeof(spanEnd{}); size > 1<<20 {
		t.Errorf("two full queues take %d bytes", size)
	}
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.FlushSpans(expired); err == nil {
		t.Error("flushed while the exporter blocks")
	}
	close(tracer.block)
	flush(t, r)
	ended := 0
	for _, s := range tracer.spans {
		ended += s.ended
	}
	if ended+lost != requests {
		t.Errorf("%d spans ended, %d given up, of %d", ended, lost, requests)
	}
	scrapeOf(t, r).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", requests)
	scrapeOf(t, r).want(t, "paddock_num_requests_in_flight", 0)
}

// A tracer that panics costs spans, not requests.
func TestPanickingTracer(t *testing.T) {
	for _, where := range []string{"start", "end"} {
		r, m := tracedRecorder(t, &fakeTracer{panic: where})
		for range 3 {
			rec := &Record{Operation: Chat}
			ctx := m.Begin(context.Background(), rec)
			if FromContext(ctx) != rec {
				t.Fatal("the context lost its record")
			}
			m.Finish(rec)
			flush(t, r)
		}
		if r.Faults() != 3 {
			t.Errorf("%s: %d faults, want 3", where, r.Faults())
		}
		scrapeOf(t, r).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 3)
	}
}

// Requests that end on many goroutines at once each have their span ended once.
func TestSpansEndOnce(t *testing.T) {
	tracer := &fakeTracer{}
	r, m := tracedRecorder(t, tracer)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				rec := &Record{Operation: Chat}
				m.Begin(context.Background(), rec)
				m.Finish(rec)
			}
		})
	}
	wg.Wait()
	flush(t, r)
	for _, s := range tracer.spans {
		if s.ended != 1 {
			t.Fatalf("a span ended %d times", s.ended)
		}
	}
	if len(tracer.spans) != 400 || r.Faults() != 0 {
		t.Errorf("%d spans, %d faults", len(tracer.spans), r.Faults())
	}
}

func TestNoTracerNoAllocation(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	rec := finished(Chat, Live, 2)
	if n := testing.AllocsPerRun(100, func() { r.endSpan(rec) }); n != 0 {
		t.Errorf("%v allocations at the end of a request without a span", n)
	}
}
