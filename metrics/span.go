package metrics

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// startSpan starts the request's span, if the recorder makes spans, and takes the trace ids of ctx's span for a record that has none.
// The span's parent is ctx's span, else the caller's, which the record names. From then on the record's ids are the span's own, so that
// exemplars and events lead to it.
func (r *Recorder) startSpan(ctx context.Context, rec *Record) (out context.Context) {
	out = ctx
	defer r.guard("span")
	parent := trace.SpanContextFromContext(ctx)
	if rec.TraceID == [16]byte{} && parent.IsValid() {
		rec.TraceID, rec.SpanID = parent.TraceID(), parent.SpanID()
	}
	if r.opts.Tracer == nil {
		return ctx
	}
	under := ctx
	if !parent.IsValid() {
		c := trace.SpanContextConfig{TraceID: rec.TraceID, SpanID: rec.SpanID, TraceFlags: trace.FlagsSampled}
		if rec.Unsampled {
			c.TraceFlags = 0
		}
		if caller := trace.NewSpanContext(c); caller.IsValid() {
			under = trace.ContextWithRemoteSpanContext(ctx, caller)
		}
	}
	kind := trace.SpanKindInternal
	if rec.Edge {
		kind = trace.SpanKindServer
	}
	op, model := rec.Operation.String(), rec.Model.Name()
	rec.began = r.wall(rec.Arrival)
	started, span := r.opts.Tracer.Start(under, op+" "+model, trace.WithSpanKind(kind), trace.WithTimestamp(rec.began),
		trace.WithAttributes( // here and not at the end: samplers see them
			attribute.String("gen_ai.operation.name", op),
			attribute.String("gen_ai.provider.name", "paddock"),
			attribute.String("gen_ai.request.model", model),
			attribute.String("paddock.origin", rec.Origin.String()),
		))
	if span == nil {
		return ctx
	}
	rec.span = span
	if own := span.SpanContext(); own.IsValid() {
		rec.TraceID, rec.SpanID = own.TraceID(), own.SpanID()
	}
	return started
}

// endSpan has the request's span ended. It doesn't wait: what an exporter does in End it does on the goroutine of the queue. It
// allocates nothing where there is no span.
func (r *Recorder) endSpan(rec *Record) {
	if rec.span == nil {
		return
	}
	e := spanEnd{
		span: rec.span, began: rec.began, model: rec.Model.Name(), finish: rec.Finish, fail: rec.Fail,
		id: rec.ID, route: rec.Route, status: rec.Status,
		arrival: rec.Arrival, queued: rec.Queued, scheduled: rec.Scheduled, first: rec.First, last: rec.Last, finished: rec.Finished,
		prompt: rec.PromptTokens, cached: rec.CachedTokens, generated: rec.GeneratedTokens, max: rec.MaxTokens,
		tokenizing: rec.Tokenizing, preemptions: rec.Preemptions, drafted: rec.Drafted, accepted: rec.Accepted, pages: rec.KVPages,
	}
	e.choices = make([]FinishReason, len(rec.Choices))
	for i := range rec.Choices {
		e.choices[i] = rec.Choices[i].Finish
	}
	rec.span = nil
	r.spans.push(r, e)
}

// spanEnd is what the end of a span says: the record's numbers, without the record, which is its owner's again. No text of prompt or
// answer can be in it.
type spanEnd struct {
	span   trace.Span
	began  time.Time // the time of day at arrival
	model  string
	finish FinishReason
	fail   FailReason

	id, route string
	status    int

	arrival, queued, scheduled, first, last, finished time.Duration
	prompt, cached, generated, max                    int
	tokenizing                                        time.Duration
	preemptions, drafted, accepted, pages             int
	choices                                           []FinishReason
}

// at is the time of day at a stamp. All of a span's times count from its beginning, so that a clock that was set meanwhile can't
// put them out of order.
func (e *spanEnd) at(stamp time.Duration) trace.SpanEventOption {
	return trace.WithTimestamp(e.began.Add(stamp - e.arrival))
}

// end writes attributes and events, and ends the span.
func (e *spanEnd) end() {
	defer e.span.End(e.at(e.finished))
	if !e.span.IsRecording() {
		return
	}
	e.span.SetAttributes(e.attributes()...)
	for _, p := range [...]struct {
		name     string
		from, to time.Duration
	}{
		{"queue", e.queued, orEnd(e.scheduled, e.finished)},
		{"prefill", e.scheduled, orEnd(e.first, e.finished)},
		{"decode", e.first, e.last},
	} {
		if p.from != 0 {
			e.span.AddEvent(p.name, e.at(p.from), trace.WithAttributes(attribute.Float64("paddock.phase_seconds", (p.to-p.from).Seconds())))
		}
	}
	if e.fail != NoFail {
		e.span.SetStatus(codes.Error, e.fail.String())
	}
}

func (e *spanEnd) attributes() []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("gen_ai.response.model", e.model),
		attribute.Int("gen_ai.usage.input_tokens", e.prompt),
		attribute.Int("gen_ai.usage.output_tokens", e.generated),
		attribute.Int("paddock.cached_tokens", e.cached),
		attribute.Int("paddock.preemptions", e.preemptions),
		attribute.Int("paddock.draft_tokens", e.drafted),
		attribute.Int("paddock.accepted_tokens", e.accepted),
		attribute.Int("paddock.kv_pages", e.pages),
		attribute.Float64("paddock.tokenizing_seconds", e.tokenizing.Seconds()),
	}
	if reasons := e.reasons(); len(reasons) > 0 {
		list = append(list, attribute.StringSlice("gen_ai.response.finish_reasons", reasons))
	}
	if e.fail != NoFail {
		list = append(list, attribute.String("error.type", e.fail.ErrorType()), attribute.String("paddock.fail_reason", e.fail.String()))
	}
	if e.max > 0 {
		list = append(list, attribute.Int("gen_ai.request.max_tokens", e.max))
	}
	if n := len(e.choices); n > 1 {
		list = append(list, attribute.Int("gen_ai.request.choice.count", n))
	}
	if e.id != "" {
		list = append(list, attribute.String("paddock.request_id", e.id))
	}
	if e.route != "" {
		list = append(list, attribute.String("http.route", e.route))
	}
	if e.status != 0 {
		list = append(list, attribute.Int("http.response.status_code", e.status))
	}
	return list
}

// reasons are the finish reasons of the choices that finished, in their order; of a success without choices, its own.
func (e *spanEnd) reasons() []string {
	var reasons []string
	for _, f := range e.choices {
		if f != NoFinish {
			reasons = append(reasons, f.String())
		}
	}
	if len(reasons) == 0 && e.fail == NoFail {
		reasons = append(reasons, max(e.finish, Stop).String())
	}
	return reasons
}
