package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// call is a request to the server's API as any program would send it.
type call struct {
	path, body string
	id         string // X-Request-Id
	trace      string // 32 hexadecimal digits; none: no traceparent
	origin     string
}

// do sends the call and reads the whole reply.
func (c call) do(ctx context.Context, target string) (status int, reply string, err error) {
	q, err := http.NewRequestWithContext(ctx, "POST", "http://"+target+c.path, strings.NewReader(c.body))
	if err != nil {
		return 0, "", err
	}
	q.Header.Set("Content-Type", "application/json")
	if c.id != "" {
		q.Header.Set("X-Request-Id", c.id)
	}
	if c.trace != "" {
		q.Header.Set("Traceparent", "00-"+c.trace+"-00f067aa0ba902b7-01")
	}
	if c.origin != "" {
		q.Header.Set("X-Paddock-Origin", c.origin)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// traceID is the n-th of the trace ids that tests send.
func traceID(n int) string { return fmt.Sprintf("4bf92f3577b34da6%016x", n) }

// event is what the tests read of an ended request's event.
type event struct {
	Seq           uint64
	RequestID     string   `json:"request_id"`
	TraceID       string   `json:"trace_id"`
	SpanID        string   `json:"span_id"`
	Status        int      `json:"status"`
	Stream        bool     `json:"stream"`
	Operation     string   `json:"gen_ai.operation.name"`
	Model         string   `json:"gen_ai.request.model"`
	Input         *int     `json:"gen_ai.usage.input_tokens"`
	Output        *int     `json:"gen_ai.usage.output_tokens"`
	Cached        *int     `json:"paddock.cached_tokens"`
	FinishReasons []string `json:"gen_ai.response.finish_reasons"`
	ErrorType     string   `json:"error.type"`
	Duration      float64  `json:"duration_ms"`
	TTFT          *float64 `json:"paddock.ttft_ms"`
	TPOT          *float64 `json:"paddock.tpot_ms"`
	Decode        *float64 `json:"paddock.decode_ms"`
	Queue         *float64 `json:"paddock.queue_ms"`
	Origin        string   `json:"paddock.origin"`
}

// getJSON reads what an address of the server answers into out.
func getJSON(t *testing.T, address string, out any) {
	t.Helper()
	_, page := fetchPage(t, address, "")
	if err := json.Unmarshal(page, out); err != nil {
		t.Fatalf("%s: %v: %.200s", address, err, page)
	}
}

// events are all events of a server, by the pages of its API; none may be lost.
func events(t *testing.T, target string) []event {
	t.Helper()
	var all []event
	for next := uint64(0); ; {
		var page struct {
			Next, Dropped uint64
			Events        []event
		}
		getJSON(t, "http://"+target+"/api/events?"+url.Values{"since": {strconv.FormatUint(next, 10)}, "max": {"500"}}.Encode(), &page)
		if page.Dropped != 0 {
			t.Fatalf("%d events are lost", page.Dropped)
		}
		if len(page.Events) == 0 {
			return all
		}
		all, next = append(all, page.Events...), page.Next
	}
}

// byTrace and byRequest find events; two of one id are a mistake of the test.
func byTrace(t *testing.T, all []event) map[string]event {
	return by(t, all, func(e event) string { return e.TraceID })
}

func byRequest(t *testing.T, all []event) map[string]event {
	return by(t, all, func(e event) string { return e.RequestID })
}

func by(t *testing.T, all []event, key func(event) string) map[string]event {
	t.Helper()
	out := map[string]event{}
	for _, e := range all {
		k := key(e)
		if _, twice := out[k]; twice && k != "" {
			t.Errorf("two events of %q", k)
		}
		out[k] = e
	}
	return out
}

// exactQuantile is the value in seconds that a share of the events stays at or below.
func exactQuantile(q float64, all []event, value func(event) *float64) float64 {
	var values []float64
	for _, e := range all {
		if v := value(e); v != nil {
			values = append(values, *v/1000)
		}
	}
	slices.Sort(values)
	return values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
}
