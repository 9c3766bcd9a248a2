package metrics

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// edgeRecord is a record as an edge makes it, begun by m.
func edgeRecord(m *Model) *Record {
	rec := &Record{Edge: true}
	if m != nil {
		m.Begin(httptest.NewRequest("POST", "/", nil).Context(), rec)
	}
	return rec
}

func TestClaimOnce(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat)
	rec := edgeRecord(m)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		taken int
	)
	for range 8 {
		wg.Go(func() {
			if m.Claim(rec) {
				mu.Lock()
				taken++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if taken != 1 {
		t.Fatalf("%d took it", taken)
	}
	rec.Release()
	if m.Claim(rec) {
		t.Error("a record that an engine has filled was taken again")
	}
}

// A record that is finished, or whose edge has gone with nobody holding it, is beyond use; one that a handler still holds is not.
func TestClaimTooLate(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat)
	counted := edgeRecord(m)
	m.Finish(counted)
	if m.Claim(counted) {
		t.Error("a finished record was taken")
	}
	gone := edgeRecord(nil)
	gone.leave(edgeFacts{status: 200})
	if m.Claim(gone) {
		t.Error("a record without an edge was taken")
	}
	held := edgeRecord(m)
	held.Hold()
	held.leave(edgeFacts{status: 503, fail: Draining})
	if !m.Claim(held) {
		t.Error("a record that a handler holds was not taken")
	}
	held.Release() // the engine
	if held.over() {
		t.Error("it was counted while the handler held it")
	}
	held.Release()
	if !held.over() || held.Fail != Draining {
		t.Errorf("counted: %v, as %q", held.over(), held.Fail)
	}
}

// A refused request may be submitted again, or be answered in another way.
func TestClaimAfterRefusal(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat)
	again := edgeRecord(m)
	if !m.Claim(again) {
		t.Fatal("not taken")
	}
	again.Refuse(QueueFull)
	if !m.Claim(again) || again.Fail != NoFail {
		t.Fatalf("not taken again, or it counts as %q", again.Fail)
	}
	again.Finish = Length
	again.Release()
	again.leave(edgeFacts{status: 200})
	elsewhere, refused := edgeRecord(m), edgeRecord(m)
	for _, rec := range []*Record{elsewhere, refused} {
		m.Claim(rec)
		rec.Refuse(ContextLength)
	}
	elsewhere.leave(edgeFacts{status: 200})
	refused.leave(edgeFacts{status: 400, fail: InvalidRequest})
	if again.Fail != NoFail || elsewhere.Fail != NoFail || refused.Fail != ContextLength {
		t.Errorf("%q, %q, %q", again.Fail, elsewhere.Fail, refused.Fail)
	}
	s := scrapeOf(t, r)
	s.want(t, `paddock_request_success_total{`+base(Chat, "tiny", Live)+`,finish_reason="length"}`, 1)
	s.want(t, `paddock_request_failure_total{`+base(Chat, "tiny", Live)+`,class="4xx",reason="context_length"}`, 1)
	s.want(t, "paddock_num_requests_in_flight", 0)
}

// The request is of the model that answers it, whichever owns the route; but a recorder's numbers stay with it.
func TestClaimOfAnotherModel(t *testing.T) {
	r, other := newTestRecorder(RecorderOptions{}), newTestRecorder(RecorderOptions{})
	route, answers, foreign := mustOpen(t, r, "route", nil, Chat), mustOpen(t, r, "answers", nil, Chat), mustOpen(t, other, "foreign", nil, Chat)
	off, err := Off.OpenModel("guard", []Operation{Chat}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := edgeRecord(route)
	for _, m := range []*Model{off, foreign, nil} {
		if m.Claim(rec) {
			t.Fatalf("%s took another recorder's request", m.Name())
		}
	}
	if !answers.Claim(rec) {
		t.Fatal("not taken")
	}
	answered := rec
	answered.Release()
	foreign.Finish(rec) // whoever says so
	if rec.Model != answers {
		t.Errorf("the request is of %s", rec.Model.Name())
	}
	s := scrapeOf(t, r)
	s.want(t, `paddock_request_success_total{`+base(Chat, "answers", Live)+`,finish_reason="stop"}`, 1)
	s.want(t, `paddock_request_success_total{`+base(Chat, "route", Live)+`,finish_reason="stop"}`, 0)
	s.want(t, "paddock_num_requests_in_flight", 0)
	scrapeOf(t, other).want(t, "paddock_num_requests_in_flight", 0)
	if route.pending.Load() != 0 || answers.pending.Load() != 0 {
		t.Errorf("pending: %d, %d", route.pending.Load(), answers.pending.Load())
	}
}

// What no route has named is what the engine was asked for.
func TestSuppose(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat, TextCompletion)
	for _, c := range []struct {
		wrap   func(http.Handler) http.Handler
		header string
		op     Operation
		or     Origin
	}{
		{func(h http.Handler) http.Handler { return InstrumentHTTP(r, h) }, "", TextCompletion, Batch},
		{func(h http.Handler) http.Handler { return InstrumentHTTP(r, h) }, "studio", TextCompletion, Studio},
		{func(h http.Handler) http.Handler { return InferenceRoute(m, Chat, h) }, "", Chat, Batch},
		{func(h http.Handler) http.Handler { return InstrumentHTTP(r, InferenceRoute(m, Chat, h)) }, "", Chat, Batch},
	} {
		var seen *Record
		h := c.wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			seen = FromContext(req.Context())
			m.Claim(seen)
			seen.Suppose(TextCompletion, Batch)
			m.Begin(req.Context(), seen)
			seen.Release()
		}))
		req := httptest.NewRequest("POST", "/", nil)
		req.Header.Set("X-Paddock-Origin", c.header)
		h.ServeHTTP(httptest.NewRecorder(), req)
		if seen.Operation != c.op || seen.Origin != c.or || seen.ID == "" || !seen.over() {
			t.Errorf("%v from %v with id %q, counted %v; want %v from %v", seen.Operation, seen.Origin, seen.ID, seen.over(), c.op, c.or)
		}
	}
}

// A model that closes waits for the edges that are about to finish its requests: rollups have what events have.
func TestCloseWaitsForEdges(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "tiny", nil, Chat)
	rec := edgeRecord(m)
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	for !m.closing.Load() {
		time.Sleep(time.Millisecond)
	}
	rec.Fail = Draining
	m.Finish(rec)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	rollups, err := r.Rollups(time.Time{}, time.Time{}, 0)
	if err != nil || len(rollups.Series) != 1 || rollups.Series[0].Total.ServerErrors != 1 {
		t.Errorf("%v: %+v", err, rollups.Series)
	}
}
