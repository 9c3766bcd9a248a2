package metrics

import (
	"encoding/hex"
	"time"
)

// Event is one ended request, as GET /api/events shows it. What isn't known, or doesn't apply, is absent: a pointer is nil, another
// field zero. Phases are those of the histograms; milliseconds are exact to the nanosecond. It never holds prompts, output or keys.
type Event struct {
	Seq        uint64   `json:"seq"`                // counts the recorder's ended requests, from 0
	TimeMS     int64    `json:"ts_ms"`              // end, Unix milliseconds
	Endpoint   string   `json:"endpoint,omitempty"` // pattern of the route; absent for a library call
	Status     int      `json:"status,omitempty"`   // of the HTTP reply; absent where none was sent
	DurationMS float64  `json:"duration_ms"`        // arrival → last byte or last token
	Stream     bool     `json:"stream"`
	RequestID  string   `json:"request_id,omitempty"`
	TraceID    string   `json:"trace_id,omitempty"` // hexadecimal, as are span ids
	SpanID     string   `json:"span_id,omitempty"`
	SessionID  string   `json:"session_id,omitempty"`
	User       string   `json:"user,omitempty"`
	Tenant     string   `json:"tenant,omitempty"`
	TooLong    []string `json:"paddock.too_long,omitempty"` // fields that are absent because their text exceeds 256 bytes, or their list 128 entries

	Operation     string   `json:"gen_ai.operation.name"`
	Provider      string   `json:"gen_ai.provider.name"`
	Model         string   `json:"gen_ai.request.model"`                     // the model that owns the route
	InputTokens   *int     `json:"gen_ai.usage.input_tokens,omitempty"`      // as in the reply's usage
	OutputTokens  *int     `json:"gen_ai.usage.output_tokens,omitempty"`     // over all choices
	FinishReasons []string `json:"gen_ai.response.finish_reasons,omitempty"` // of each choice of a success
	ErrorType     string   `json:"error.type,omitempty"`                     // as the label error_type
	FailureReason string   `json:"paddock.failure_reason,omitempty"`         // as the label reason of paddock_request_failure
	Origin        string   `json:"paddock.origin"`

	CachedTokens *int     `json:"paddock.cached_tokens,omitempty"` // of the input tokens; of a request that was scheduled
	TokenizeMS   *float64 `json:"paddock.tokenize_ms,omitempty"`
	QueueMS      *float64 `json:"paddock.queue_ms,omitempty"`     // queued → first scheduled, or the end
	PrefillMS    *float64 `json:"paddock.prefill_ms,omitempty"`   // first scheduled → first token, or the end
	DecodeMS     *float64 `json:"paddock.decode_ms,omitempty"`    // first token → last token
	FirstTokenMS *float64 `json:"paddock.ttft_ms,omitempty"`      // arrival → first token of any choice, of failures too
	PerTokenMS   *float64 `json:"paddock.tpot_ms,omitempty"`      // decode / (n − 1), of a request with one choice
	DecodeRate   *float64 `json:"paddock.decode_tok_s,omitempty"` // tokens after the first, of all choices, per second of decode

	Preemptions        *int `json:"paddock.preemptions,omitempty"`   // of its sequences; of a request that was scheduled
	SpecDrafted        *int `json:"paddock.spec_drafted,omitempty"`  // of a request that speculation served
	SpecAccepted       *int `json:"paddock.spec_accepted,omitempty"` // of those drafted
	KVPages            *int `json:"paddock.kv_pages,omitempty"`      // most that it held at once
	Choices            int  `json:"paddock.choices,omitempty"`
	ClientDisconnected bool `json:"paddock.client_disconnected,omitempty"`
}

const (
	maxEventText    = 256 // bytes
	maxEventChoices = 128
)

// event is an ended request as the ring keeps it: flat, so that keeping one allocates nothing. What isn't known is nothing.
type event struct {
	text  [numEventTexts]string
	model string

	endMS                                                         int64 // Unix milliseconds
	duration, tokenizing, queue, prefill, decode, first, perToken time.Duration
	input, output, cached, preemptions, drafted, accepted, pages  int
	status, choices                                               int

	traceID [16]byte
	spanID  [8]byte

	operation Operation
	origin    Origin
	fail      FailReason
	stream    bool
	tooLong   uint8                      // one bit for each text, and one for the finish reasons
	finished  uint8                      // how many finish reasons there are
	finishes  [maxEventChoices / 2]uint8 // two in a byte
}

// nothing is a duration or a count that isn't known.
const nothing = -1

// The texts of an event.
const (
	textID = iota
	textTenant
	textSession
	textUser
	textRoute
	numEventTexts
)

// eventTexts are the names of what can be too long: the texts, and last the finish reasons.
var eventTexts = [numEventTexts + 1]string{"request_id", "tenant", "session_id", "user", "endpoint", "gen_ai.response.finish_reasons"}

// fill takes what an event keeps of an ended request. It allocates nothing: texts are kept as they are, not copied, which is why a
// long one isn't kept at all, since a part of it would hold all of its memory.
func (e *event) fill(m *Model, rec *Record) {
	for i, s := range [numEventTexts]string{rec.ID, rec.Tenant, rec.Session, rec.User, rec.Route} {
		if len(s) > maxEventText {
			e.tooLong |= 1 << i
		} else {
			e.text[i] = s
		}
	}
	e.model, e.operation, e.origin, e.fail = m.name, rec.Operation, rec.Origin, rec.Fail
	e.stream, e.status, e.choices = rec.Stream, rec.Status, len(rec.Choices)
	e.traceID, e.spanID = rec.TraceID, rec.SpanID
	e.times(rec)

	reached, scheduled := rec.Queued != 0, rec.Scheduled != 0
	e.input = knownIf(reached, rec.PromptTokens)
	e.output = knownIf(reached, rec.GeneratedTokens)
	e.cached = knownIf(scheduled, rec.CachedTokens)
	e.preemptions = knownIf(scheduled, rec.Preemptions)
	e.drafted, e.accepted = knownIf(false, rec.Drafted), knownIf(rec.Drafted > 0, rec.Accepted)
	e.pages = knownIf(false, rec.KVPages)
	if rec.Fail == NoFail {
		e.finish(rec)
	}
}

// times takes the phases, by the rules of the histograms.
func (e *event) times(rec *Record) {
	e.duration = max(0, rec.Finished-rec.Arrival)
	e.tokenizing, e.queue, e.prefill, e.decode, e.first, e.perToken = nothing, nothing, nothing, nothing, nothing, nothing
	if rec.Tokenizing > 0 {
		e.tokenizing = rec.Tokenizing
	}
	if rec.First != 0 {
		e.first = max(0, rec.First-rec.Arrival)
	}
	if len(rec.Choices) == 1 && rec.Choices[0].Tokens >= 2 {
		c := &rec.Choices[0]
		e.perToken = max(0, c.Last-c.First) / time.Duration(c.Tokens-1)
	}
	if rec.Queued == 0 {
		return
	}
	e.queue = max(0, orEnd(rec.Scheduled, rec.Finished)-rec.Queued)
	if rec.Scheduled == 0 {
		return
	}
	e.prefill = max(0, orEnd(rec.First, rec.Finished)-rec.Scheduled)
	if rec.First != 0 {
		e.decode = max(0, rec.Last-rec.First)
	}
}

// finish takes the finish reason of each choice; a success that doesn't say how it ended has stopped.
func (e *event) finish(rec *Record) {
	all := max(rec.Finish, Stop)
	switch n := len(rec.Choices); {
	case n > maxEventChoices:
		e.tooLong |= 1 << numEventTexts
	case n > 0:
		for i := range rec.Choices {
			f := rec.Choices[i].Finish
			if f == NoFinish || int(f) >= numFinishReasons {
				f = all
			}
			e.finishes[i/2] |= uint8(f) << (i % 2 * 4)
		}
		e.finished = uint8(n)
	case rec.GeneratedTokens > 0:
		e.finishes[0], e.finished = uint8(all), 1
	}
}

// knownIf is n where something is known of it: surely if sure, or it is above 0.
func knownIf(sure bool, n int) int {
	if sure || n > 0 {
		return max(0, n)
	}
	return nothing
}

// export is the event with a number, for readers. Its texts are the ring's.
func (e *event) export(seq uint64) Event {
	out := Event{
		Seq: seq, TimeMS: e.endMS, Endpoint: e.text[textRoute], Status: e.status, DurationMS: millis(e.duration), Stream: e.stream,
		RequestID: e.text[textID], SessionID: e.text[textSession], User: e.text[textUser], Tenant: e.text[textTenant],
		Operation: e.operation.String(), Provider: providerPair.GetValue(), Model: e.model,
		InputTokens: optCount(e.input), OutputTokens: optCount(e.output), ErrorType: e.fail.ErrorType(), FailureReason: e.fail.String(),
		Origin: e.origin.String(), CachedTokens: optCount(e.cached),
		TokenizeMS: optMillis(e.tokenizing), QueueMS: optMillis(e.queue), PrefillMS: optMillis(e.prefill), DecodeMS: optMillis(e.decode),
		FirstTokenMS: optMillis(e.first), PerTokenMS: optMillis(e.perToken),
		Preemptions: optCount(e.preemptions), SpecDrafted: optCount(e.drafted), SpecAccepted: optCount(e.accepted), KVPages: optCount(e.pages),
		Choices: e.choices, ClientDisconnected: e.fail == Disconnect,
	}
	if e.traceID != [16]byte{} {
		out.TraceID = hex.EncodeToString(e.traceID[:])
	}
	if e.spanID != [8]byte{} {
		out.SpanID = hex.EncodeToString(e.spanID[:])
	}
	if e.decode > 0 && e.output >= 2 {
		out.DecodeRate = new(float64(e.output-1) / e.decode.Seconds())
	}
	for i := range int(e.finished) {
		f := FinishReason(e.finishes[i/2] >> (i % 2 * 4) & 0xf)
		out.FinishReasons = append(out.FinishReasons, f.String())
	}
	for i, name := range eventTexts {
		if e.tooLong&(1<<i) != 0 {
			out.TooLong = append(out.TooLong, name)
		}
	}
	return out
}

func optCount(n int) *int {
	if n == nothing {
		return nil
	}
	return &n
}

// millis is d in milliseconds; below 2^53 ns, three months, it prints as the exact decimal.
func millis(d time.Duration) float64 { return float64(d) / 1e6 }

func optMillis(d time.Duration) *float64 {
	if d == nothing {
		return nil
	}
	return new(millis(d))
}
