package metrics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Every answer says which run it is of: one recorder's is the same in all, and another's is another, also under one instance id.
func TestRunIsInEveryAnswer(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		clock := newTestClock()
		r := clock.recorder(t, RecorderOptions{ServiceInstanceID: "pod-0"})
		mustOpen(t, r, "m", busySnapshot(), Chat)
		h := APIHandler(HandlerOptions{Recorder: r})
		var first Run
		for _, path := range []string{"/api/events", "/api/rollups", "/api/stats"} {
			var got Run
			if err := json.Unmarshal(apiGet(h, "GET", path).Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if first.ID == "" {
				first = got
			}
			if got != first || got.ID == "" || got.ID == "pod-0" || got.Start <= 0 {
				t.Errorf("%s: run %+v, want %+v", path, got, first)
			}
		}
		if seen[first.ID] {
			t.Error("two recorders have one run id")
		}
		seen[first.ID] = true
	}
}

// A slot is known by its start less the shift, however the clock is set.
func TestRollupShift(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	m := mustOpen(t, r, "m", busySnapshot(), Chat)
	m.Finish(finished(Chat, Live, 3))
	ask := func() (start, shift int64) {
		t.Helper()
		a, err := r.Rollups(time.Time{}, time.Time{}, 10*time.Second)
		if err != nil || len(a.Series) == 0 || len(a.Series[0].Slots) != 1 {
			t.Fatalf("%v: %+v", err, a)
		}
		return a.Series[0].Slots[0].Start, a.Shift
	}
	start, shift := ask()
	if shift != 0 {
		t.Errorf("the shift is %d before the clock is set", shift)
	}
	for _, by := range []time.Duration{100 * time.Second, -500 * time.Second} {
		clock.set.Add(int64(by))
		moved, s := ask()
		if moved-s != start || s == 0 || moved != start+s {
			t.Errorf("the slot of %d starts at %d with a shift of %d", start, moved, s)
		}
	}
}

// ProcessOnly shows what tells of the process, and the caller's own families.
func TestProcessOnly(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	w := httptest.NewRecorder()
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.RemoteAddr = "127.0.0.1:1"
	HandlerFor(HandlerOptions{Recorder: r, ProcessOnly: true, Runtime: true}).ServeHTTP(w, req)
	page := w.Body.String()
	for _, name := range []string{"target_info{", "paddock_build_info{", "process_start_time_seconds ", "go_goroutines "} {
		if !strings.Contains(page, "\n"+name) {
			t.Errorf("%s is missing", name)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "paddock_") && !strings.HasPrefix(line, "paddock_build_info") || strings.HasPrefix(line, "gen_ai_") {
			t.Errorf("on the page: %s", line)
		}
	}
}

// Protect asks by the first row of the table, whatever Auth says.
func TestProtect(t *testing.T) {
	h := Protect(HandlerOptions{Auth: AuthOff, Key: "k"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	for _, c := range []struct {
		peer, key string
		want      int
	}{{"127.0.0.1:1", "", 204}, {"192.0.2.1:1", "", 401}, {"192.0.2.1:1", "k", 204}} {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil)
		req.RemoteAddr = c.peer
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		if h.ServeHTTP(w, req); w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}
