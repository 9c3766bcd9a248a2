package metrics

import (
	"context"
	"testing"
	"time"
)

func TestRecordTokens(t *testing.T) {
	var rec Record
	rec.Open(2)
	rec.Token(0, 5, 1)
	rec.Token(1, 7, 2)
	rec.Token(0, 9, 1)
	rec.Token(1, 9, 0)  // nothing
	rec.Token(7, 11, 1) // no such choice: the request's only
	if rec.First != 5 || rec.Last != 11 || rec.GeneratedTokens != 5 {
		t.Errorf("request: first %d, last %d, tokens %d; want 5, 11, 5", rec.First, rec.Last, rec.GeneratedTokens)
	}
	if c := rec.Choices[0]; c.First != 5 || c.Last != 9 || c.Tokens != 2 {
		t.Errorf("choice 0: %+v", c)
	}
	if c := rec.Choices[1]; c.First != 7 || c.Last != 7 || c.Tokens != 2 {
		t.Errorf("choice 1: %+v", c)
	}
}

func TestRecordTravelsInContext(t *testing.T) {
	rec := &Record{}
	if got := FromContext(NewContext(context.Background(), rec)); got != rec {
		t.Errorf("got %p, put %p", got, rec)
	}
	if got := FromContext(context.Background()); got != nil {
		t.Errorf("an empty context holds %v", got)
	}
}

// Each row is a life of a request and what each request family gets from it: -1 is no observation, else milliseconds or tokens.
func TestFinishObserves(t *testing.T) {
	const second = time.Second
	type want struct{ duration, first, perToken, queue, prefill, decode, prompt, tokens float64 }
	rows := []struct {
		name   string
		rec    func() *Record
		error  string // error_type
		expect want
	}{
		{"success", func() *Record { return finished(Chat, Live, 5) }, "", want{141, 100, 10, 18, 80, 40, 100, 5}},
		{"one token has no time per token", func() *Record { return finished(Chat, Live, 1) }, "", want{101, 100, -1, 18, 80, 0, 100, 1}},
		{"refused at the edge", func() *Record {
			return &Record{Operation: Chat, Fail: TooLarge, Arrival: second, Finished: second + 3*ms}
		}, "413", want{3, -1, -1, -1, -1, -1, -1, -1}},
		{"ended in the queue", func() *Record {
			return &Record{Operation: Chat, Fail: Deadline, Arrival: second, Queued: second + ms, Finished: second + 51*ms, PromptTokens: 8}
		}, "504", want{51, -1, -1, 50, -1, -1, 8, 0}},
		{"ended in prefill", func() *Record {
			return &Record{Operation: Chat, Fail: Disconnect, Arrival: second, Queued: second, Scheduled: second + 5*ms,
				Finished: second + 25*ms, PromptTokens: 8}
		}, "disconnect", want{25, -1, -1, 5, 20, -1, 8, 0}},
		{"failed after streaming began", func() *Record {
			rec := finished(Chat, Live, 5)
			rec.Fail = EngineError
			return rec
		}, "500", want{141, -1, -1, 18, 80, 40, 100, 5}},
		{"stamps out of order don't wrap", func() *Record {
			return &Record{Operation: Chat, Finish: Stop, Arrival: 2 * second, Queued: 2 * second, Scheduled: second, Finished: second}
		}, "", want{0, -1, -1, 0, 0, -1, 0, 0}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newTestRecorder(RecorderOptions{})
			m := mustOpen(t, r, "m", nil, Chat)
			m.Finish(row.rec())
			s := scrapeOf(t, r)
			b := base(Chat, "m", Live)
			check := func(family, labels string, v, unit float64) {
				t.Helper()
				n := 1.0
				if v < 0 {
					n, v = 0, 0
				}
				s.want(t, family+"_count{"+labels+"}", n)
				s.want(t, family+"_sum{"+labels+"}", v/unit)
			}
			if row.error == "" {
				check("gen_ai_server_request_duration_seconds", b, row.expect.duration, 1000)
			} else {
				check("gen_ai_server_request_duration_seconds", b, -1, 1000)
				check("gen_ai_server_request_duration_seconds", b+`,error_type="`+row.error+`"`, row.expect.duration, 1000)
			}
			check("gen_ai_server_time_to_first_token_seconds", b, row.expect.first, 1000)
			check("gen_ai_server_time_per_output_token_seconds", b, row.expect.perToken, 1000)
			check("paddock_request_queue_time_seconds", b, row.expect.queue, 1000)
			check("paddock_request_prefill_time_seconds", b, row.expect.prefill, 1000)
			check("paddock_request_decode_time_seconds", b, row.expect.decode, 1000)
			check("paddock_request_prompt_tokens", b, row.expect.prompt, 1)
			check("paddock_request_generation_tokens", b, row.expect.tokens, 1)
		})
	}
}

func TestFinishCountsEachChoice(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := &Record{Operation: Chat, Finish: Length, Arrival: time.Second, Queued: time.Second, Scheduled: time.Second}
	rec.Open(3)
	rec.Token(0, time.Second+10*ms, 1)
	rec.Token(1, time.Second+20*ms, 1)
	rec.Token(0, time.Second+40*ms, 3)
	rec.Finished = rec.Last
	m.Finish(rec)
	s := scrapeOf(t, r)
	b := base(Chat, "m", Live)
	s.want(t, "gen_ai_server_time_to_first_token_seconds_count{"+b+"}", 2) // the third choice got none
	s.want(t, "gen_ai_server_time_to_first_token_seconds_sum{"+b+"}", 0.03)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_count{"+b+"}", 1)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_sum{"+b+"}", 0.01) // 30 ms over 3 tokens
	s.want(t, "paddock_request_success_total{"+b+`,finish_reason="length"}`, 1)
	s.want(t, "gen_ai_server_request_duration_seconds_count{"+b+"}", 1)
}

func TestFinishTwiceCountsOnce(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := finished(Chat, Live, 2)
	m.Finish(rec)
	m.Finish(rec)
	scrapeOf(t, r).want(t, "gen_ai_server_request_duration_seconds_count{"+base(Chat, "m", Live)+"}", 1)
}

func TestFinishStampsTheEnd(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	rec := &Record{Operation: Embeddings, Arrival: 89 * time.Second} // the clock stands at 90 s
	m.Finish(rec)
	if rec.Finished != 90*time.Second {
		t.Errorf("finished is %v", rec.Finished)
	}
	s := scrapeOf(t, r)
	b := base(Embeddings, "m", Live) // an operation that m doesn't serve is counted all the same
	s.want(t, "gen_ai_server_request_duration_seconds_sum{"+b+"}", 1)
	s.want(t, "paddock_request_success_total{"+b+`,finish_reason="stop"}`, 1)
}

func TestValuesOutsideTheEnumsAreAFault(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	before := get(t, HandlerFor(HandlerOptions{Recorder: r}))
	for _, rec := range []*Record{{Operation: 200}, {Origin: 200}, {Fail: 200}, {Finish: 200}} {
		m.Finish(rec)
	}
	m.Step(nil)
	m.Finish(nil)
	if r.Faults() != 4 {
		t.Errorf("%d faults, want 4", r.Faults())
	}
	if after := get(t, HandlerFor(HandlerOptions{Recorder: r})); after != before {
		t.Error("they changed the page")
	}
	if _, err := r.OpenModel("x", []Operation{200}, nil); err == nil {
		t.Error("a model may serve operation 200")
	}
}

func TestGapsCountTokens(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	m.Step(&StepStats{Tokens: 4, Took: ms, Gaps: []TokenGap{
		{Chat, Live, 10 * ms, 1},
		{Chat, Live, 9 * ms, 4},         // 4 of 2.25 ms
		{Chat, Live, 10, 3},             // 3 of 3⅓ ns: the sum stays 10 ns
		{Chat, Live, 5 * ms, 0},         // no token
		{Chat, Live, -time.Second, 1},   // stamps out of order
		{Operation(9), Live, 1 * ms, 1}, // outside the list
	}})
	s := scrapeOf(t, r)
	b := base(Chat, "m", Live)
	s.want(t, "paddock_inter_token_latency_seconds_count{"+b+"}", 9)
	s.want(t, "paddock_inter_token_latency_seconds_sum{"+b+"}", 0.01900001)
	s.want(t, "paddock_inter_token_latency_seconds_bucket{"+b+`,le="0.002"}`, 4)
	s.want(t, "paddock_inter_token_latency_seconds_bucket{"+b+`,le="0.004"}`, 8)
}
