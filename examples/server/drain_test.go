package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A reader who waits for events is answered when the server stops, so that it
// doesn't hold the stop up and isn't cut off.
func TestPollsEndWithTheServer(t *testing.T) {
	r := start(t)
	type answer struct {
		status int
		body   string
		err    error
	}
	got := make(chan answer, 1)
	begun := make(chan struct{})
	go func() {
		q, err := http.NewRequest(http.MethodGet, r.url+"/api/events?wait_ms=60000", nil)
		if err != nil {
			got <- answer{err: err}
			return
		}
		close(begun)
		res, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			got <- answer{err: err}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		got <- answer{res.StatusCode, string(body), err}
	}()
	<-begun
	// The poll has arrived once a request that was sent after it is answered often
	// enough; a late one would only be refused a connection, which fails the test.
	for range 50 {
		if status, _ := get(t, r.url+"/healthz"); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	r.stop()
	a := <-got
	if a.err != nil || a.status != 200 || !strings.Contains(a.body, `"events":[]`) {
		t.Errorf("the poll ended with %v, status %d: %s", a.err, a.status, a.body)
	}
	if err := <-r.done; err != nil {
		t.Errorf("run: %v", err)
	}
	r.done <- nil // for the cleanup
}
