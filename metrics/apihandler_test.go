package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// apiGet asks as this machine does.
func apiGet(h http.Handler, method, target string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, nil)
	req.RemoteAddr = "127.0.0.1:5000"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func TestAPIPaths(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	m := mustOpen(t, r, "m", busySnapshot(), Chat)
	m.Finish(finished(Chat, Live, 3))
	h := APIHandler(HandlerOptions{Recorder: r})
	for _, row := range []struct {
		method, target string
		status         int
		has            string
	}{
		{"GET", "/api/events", 200, `{"next":1,"dropped":0,"events":[{"seq":0,`},
		{"GET", "/api/events?since=0&max=1&wait_ms=60000", 200, `"next":1`},
		{"GET", "/api/events?since=1", 200, `{"next":1,"dropped":0,"events":[],"run_id":"`},
		{"GET", "/api/events?since=99&wait_ms=60000", 200, `{"next":1,"dropped":0,"events":[],"run_id":"`},
		{"GET", "/deep/below/api/events", 200, `"next":1`},
		{"GET", "/api/rollups", 200, `"step":10,"bounds":{"duration_seconds":[0.01,`},
		{"GET", "/api/rollups?from=1752480000&to=1752570000.5&step=1h", 200, `"step":3600`},
		{"GET", "/api/rollups?from=2025-07-14T09:00:00Z&to=2025-07-14T12:30:00%2B02:00&step=1m", 200, `"step":60`},
		{"GET", "/api/stats", 200, `"build":{"version":"v1.2.3","commit":"0123456789ab","goversion":"go1.26.0"}`},
		{"HEAD", "/api/stats", 200, ""},
		{"POST", "/api/stats", 405, `"type":"method_not_allowed"`},
		{"GET", "/api/", 404, `"type":"not_found"`},
		{"GET", "/api/events/", 404, `"type":"not_found"`},
		{"GET", "/api/events/x", 404, `"type":"not_found"`},
		{"GET", "/xapi/events", 404, `"type":"not_found"`},
		{"GET", "/events", 404, `"type":"not_found"`},
		{"GET", "/api/events?max=0", 400, "parameter max is 0, give 1 to 2048"},
		{"GET", "/api/events?max=2049", 400, "parameter max is 2049, give 1 to 2048"},
		{"GET", "/api/events?wait_ms=60001", 400, "parameter wait_ms is 60001, give 0 to 60000"},
		{"GET", "/api/events?since=-1", 400, `parameter since is \"-1\", give a whole number from 0 to`},
		{"GET", "/api/events?since=", 400, `parameter since is \"\", give a whole number`},
		{"GET", "/api/events?since=1e3", 400, "give a whole number"},
		{"GET", "/api/events?since=18446744073709551615", 400, "give 0 to 9223372036854775807"},
		{"GET", "/api/events?since=99999999999999999999999", 400, "give 0 to 9223372036854775807"},
		{"GET", "/api/events?since=1&since=2", 400, "parameter since is given 2 times, give it once"},
		{"GET", "/api/events?limit=1", 400, `unknown parameter \"limit\"; known: since, max, wait_ms`},
		{"GET", "/api/events?max=x&wait_ms=y", 400, `parameter max is \"x\", give a whole number from 1 to 2048; parameter wait_ms is \"y\"`},
		{"GET", "/api/events?max=%zz", 400, "the query is malformed"},
		{"GET", "/api/events?a;b", 400, "the query is malformed"},
		{"GET", "/api/events?" + strings.Repeat("x", 5000), 400, "the query has 5000 bytes, the most is 4096"},
		{"GET", "/api/stats?x=1", 400, `unknown parameter \"x\"; known: none`},
		{"GET", "/api/rollups?from=yesterday", 400, `parameter from is \"yesterday\", give Unix seconds or RFC 3339`},
		{"GET", "/api/rollups?from=NaN", 400, "give Unix seconds or RFC 3339"},
		{"GET", "/api/rollups?to=2025-07-14T12:30:00+02:00", 400, "write + as %2B"},
		{"GET", "/api/rollups?step=5m", 400, `parameter step is \"5m\", give 10s, 1m, 1h`},
		{"GET", "/api/rollups?from=20&to=10", 400, "from (1970-01-01T00:00:20Z) must be before to (1970-01-01T00:00:10Z)"},
	} {
		w := apiGet(h, row.method, row.target)
		body := w.Body.String()
		if w.Code != row.status || !strings.Contains(body, row.has) {
			t.Errorf("%s %.80s: %d %.300s; want %d with %s", row.method, row.target, w.Code, body, row.status, row.has)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s %.80s: Content-Type %q", row.method, row.target, got)
		}
		if row.method == "HEAD" {
			if body != "" || w.Header().Get("Content-Length") == "" {
				t.Errorf("HEAD: %d bytes, Content-Length %q", len(body), w.Header().Get("Content-Length"))
			}
		} else if !json.Valid(w.Body.Bytes()) || !strings.HasSuffix(body, "}\n") {
			t.Errorf("%s %.80s is no line of JSON: %.200s", row.method, row.target, body)
		}
	}
}

// What a recorder doesn't keep isn't there; the rest goes on.
func TestAPIOfWhatIsOff(t *testing.T) {
	for _, row := range []struct {
		name                   string
		o                      RecorderOptions
		events, rollups, stats int
	}{
		{"all on", RecorderOptions{}, 200, 200, 200},
		{"no metrics", RecorderOptions{NoMetrics: true}, 200, 404, 404},
		{"no events", RecorderOptions{Events: -1}, 404, 200, 200},
		{"neither", RecorderOptions{NoMetrics: true, Events: -1}, 404, 404, 404},
	} {
		h := APIHandler(HandlerOptions{Recorder: newTestRecorder(row.o)})
		for path, want := range map[string]int{"/api/events": row.events, "/api/rollups": row.rollups, "/api/stats": row.stats} {
			w := apiGet(h, "GET", path)
			if w.Code != want || want == 404 && !strings.Contains(w.Body.String(), " are off") {
				t.Errorf("%s: %s is %d %s, want %d", row.name, path, w.Code, w.Body, want)
			}
		}
	}
}

// The API asks others than this machine for the key, whatever Auth says of the page.
func TestAPIAccess(t *testing.T) {
	for _, auth := range []Auth{AuthDefault, AuthOn, AuthOff} {
		h := APIHandler(HandlerOptions{Recorder: newTestRecorder(RecorderOptions{}), Auth: auth, Key: "secret"})
		for _, row := range []struct {
			peer, key string
			want      int
		}{{"127.0.0.1:1", "", 200}, {"[::1]:1", "", 200}, {"192.0.2.7:1", "", 401}, {"192.0.2.7:1", "Bearer wrong", 401}, {"192.0.2.7:1", "bearer secret", 200}} {
			for _, path := range []string{"/api/events", "/api/rollups", "/api/stats", "/api/none"} {
				req := httptest.NewRequest("GET", path, nil)
				req.RemoteAddr = row.peer
				if row.key != "" {
					req.Header.Set("Authorization", row.key)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				want := row.want
				if want == 200 && path == "/api/none" {
					want = 404
				}
				if w.Code != want {
					t.Errorf("auth %d: %s from %s with %q is %d, want %d", auth, path, row.peer, row.key, w.Code, want)
				}
			}
		}
	}
}

func TestAPIOfTheDefaultRecorder(t *testing.T) {
	if h := APIHandler(HandlerOptions{}).(*apiHandler); h.rec != Default() {
		t.Error("it shows another recorder")
	}
}

// A long poll is answered by the next event, and let go when its reader leaves.
func TestAPIWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRecorder(RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		h := APIHandler(HandlerOptions{Recorder: r})
		start := time.Now()
		done := make(chan string)
		go func() { done <- apiGet(h, "GET", "/api/events?since=0&wait_ms=60000").Body.String() }()
		time.Sleep(20 * time.Second)
		m.Finish(finished(Chat, Live, 1))
		if body := <-done; !strings.HasPrefix(body, `{"next":1,"dropped":0,"events":[{"seq":0,`) || time.Since(start) != 20*time.Second {
			t.Errorf("after %v: %s", time.Since(start), body)
		}
		if body := apiGet(h, "GET", "/api/events?since=1&wait_ms=1500").Body.String(); !strings.HasPrefix(body, `{"next":1,"dropped":0,"events":[],"run_id":"`) ||
			time.Since(start) != 21500*time.Millisecond {
			t.Errorf("after %v: %s", time.Since(start), body)
		}
		ctx, leave := context.WithCancel(context.Background())
		w := httptest.NewRecorder()
		go func() {
			req := httptest.NewRequest("GET", "/api/events?since=1&wait_ms=60000", nil).WithContext(ctx)
			req.RemoteAddr = "[::1]:9"
			h.ServeHTTP(w, req)
			close(done)
		}()
		time.Sleep(time.Second)
		leave()
		<-done
		if !strings.HasPrefix(w.Body.String(), `{"next":1,"dropped":0,"events":[],"run_id":"`) || time.Since(start) != 22500*time.Millisecond {
			t.Errorf("a poll that was ended after %v got %s", time.Since(start), w.Body)
		}
		if r.Faults() != 0 {
			t.Errorf("%d faults", r.Faults())
		}
	})
}

func TestAPIStats(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	var source published
	m := mustOpen(t, r, "tiny", &source, Chat)
	mustOpen(t, r, "edge", nil, Chat)
	stats := func() Stats {
		t.Helper()
		var s Stats
		w := apiGet(APIHandler(HandlerOptions{Recorder: r}), "GET", "/api/stats")
		d := json.NewDecoder(w.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := stats(); len(s.Models) != 2 || s.Models[0].Rates != (RateStats{}) || s.Models[0].Prefix.HitRate != nil {
		t.Errorf("at the start: %+v", s)
	}
	s := *busySnapshot()
	s.Generated = TokenCounts{}
	for i := range 30 { // 7 tokens and 2 requests a second
		s.Generated[Chat][Live] += 7
		source.publish(Snapshot(s))
		m.Finish(finished(Chat, Live, 3))
		fail := finished(Chat, Live, 3)
		fail.Fail = OutOfPages
		m.Finish(fail)
		clock.pass(time.Second)
		got := stats().Models[0].Rates // asked often
		r.tick(clock.Now())
		window := float64(min(i+1, 10))
		want := RateStats{WindowS: window, Requests: 2, GeneratedTokens: 7}
		if i >= 10 {
			if got != want {
				t.Fatalf("second %d: %+v, want %+v", i, got, want)
			}
		} else if got.WindowS != window || got.Requests != 2 || got.GeneratedTokens != 7 {
			t.Fatalf("second %d: %+v, want %+v", i, got, want)
		}
	}
	clock.pass(300 * time.Millisecond)
	r.InFlight(5)
	got := stats()
	if got.InFlight != 5 || got.TimeMS != clock.Wall().UnixMilli() || got.Service.Name != "paddock" || got.UptimeS != unixSeconds(clock.Wall())-1700000000.25 {
		t.Errorf("%+v", got)
	}
	b, err := json.Marshal(got.Models)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"model":"tiny","requests":{"ended":60,"succeeded":30,"failed":{"4xx":0,"5xx":30,"disconnect":0},` +
		`"rejected":{"context_length":1,"draining":0,"out_of_pages":2,"queue_full":3}},"tokens":{"prompt":1036,"cached":336,"generated":210},` +
		`"rates":{"window_s":10.3,"requests_per_s":1.9417475728155338,"prompt_tokens_per_s":0,"cached_tokens_per_s":0,"generated_tokens_per_s":6.796116504854369},` +
		`"sequences":{"running":9,"waiting":11,"waiting_by_reason":{"capacity":4,"grammar":0,"parked":4,"preempted":2,"prefix":1,"restoring":0},` +
		`"admitted":60,"finished":{"abort":5,"error":2,"length":12,"stop":21},"preemptions":6,"recomputed_tokens":77},` +
		`"kv":{"pages_used":48,"pages_free":16,"pages_cached":10,"pages_total":64,"usage":0.75,"page_size":16,"dtype":"f16","pages_evicted":8},` +
		`"prefix_cache":{"queries":1036,"hits":320,"hit_rate":0.3088803088803089},"spec":{"drafts":10,"draft_tokens":40,"accepted_tokens":25},` +
		`"memory_bytes":{"kv":2097152,"scratch":1048576,"weights":3145728}},` +
		`{"model":"edge","requests":{"ended":0,"succeeded":0,"failed":{"4xx":0,"5xx":0,"disconnect":0},` +
		`"rejected":{"context_length":0,"draining":0,"out_of_pages":0,"queue_full":0}},"tokens":{"prompt":0,"cached":0,"generated":0},` +
		`"rates":{"window_s":10.3,"requests_per_s":0,"prompt_tokens_per_s":0,"cached_tokens_per_s":0,"generated_tokens_per_s":0}}]`
	if string(b) != want {
		t.Errorf("models:\n%s\nwant\n%s", b, want)
	}
	clock.pass(time.Minute) // without a tick
	if got := stats().Models[0].Rates; got.WindowS < 60 || got.Requests != 0 {
		t.Errorf("after a minute in which nobody looked: %+v", got)
	}
}

// A panic in the making of an answer is a 500 and a fault, and no lock stays taken.
func TestAPIPanics(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	ledger := m.ledger
	m.ledger = nil
	h := APIHandler(HandlerOptions{Recorder: r})
	if w := apiGet(h, "GET", "/api/stats"); w.Code != 500 || !json.Valid(w.Body.Bytes()) || r.Faults() != 1 {
		t.Errorf("%d %s, %d faults", w.Code, w.Body, r.Faults())
	}
	m.ledger = ledger
	if w := apiGet(h, "GET", "/api/stats"); w.Code != 200 {
		t.Errorf("afterwards %d %s", w.Code, w.Body)
	}
}

// Whatever the query is, the answer is JSON and its status says whose fault it is.
func FuzzAPIQuery(f *testing.F) {
	for _, s := range []string{"", "since=1&max=2&wait_ms=0", "since=18446744073709551616", "from=1&to=2&step=10s", "from=2025-07-14T09:05:07%2B02:00",
		"from=0.000000001&to=253402300799.999999999", "to=9999-12-31T23:59:59Z", "from=0000-01-01T00:00:00Z", "%", ";", "a=%00&a=%ff", "since=00000000000000000000001",
		"from=-1", "step=", "max=+1", "from=1.&to=.1"} {
		f.Add(s)
	}
	clock := newTestClock()
	r := clock.recorder(f, RecorderOptions{Events: 8})
	m := mustOpen(f, r, "m", nil, Chat)
	for range 20 {
		m.Finish(finished(Chat, Live, 1))
	}
	h := APIHandler(HandlerOptions{Recorder: r})
	f.Fuzz(func(t *testing.T, raw string) {
		if strings.Contains(raw, "wait") { // takes its time, and is a number like the others
			return
		}
		for i := range apiRoutes {
			req := httptest.NewRequest("GET", apiRoutes[i].path, nil)
			req.URL.RawQuery, req.RemoteAddr = raw, "127.0.0.1:1"
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != 200 && w.Code != 400 || !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%q: %d %s", raw, w.Code, w.Body)
			}
			if w.Body.Len() > 64<<10 {
				t.Fatalf("%q: %d bytes", raw, w.Body.Len())
			}
			values, err := url.ParseQuery(raw)
			if w.Code == 200 && err != nil {
				t.Fatalf("%q is malformed and was taken: %v", raw, err)
			}
			for name, v := range values {
				if w.Code == 200 && (len(v) != 1 || !strings.Contains(fmt.Sprint(apiRoutes[i].params), name)) {
					t.Fatalf("%q was taken by %s", raw, apiRoutes[i].path)
				}
			}
		}
		if r.Faults() != 0 {
			t.Fatalf("%q: %d faults", raw, r.Faults())
		}
	})
}

func BenchmarkAPIStats(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	mustOpen(b, r, "m", busySnapshot(), Chat)
	h := APIHandler(HandlerOptions{Recorder: r})
	req := httptest.NewRequest("GET", "/api/stats", nil)
	req.RemoteAddr = "127.0.0.1:1"
	w := &discard{ResponseRecorder: httptest.NewRecorder()}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, req)
	}
}
