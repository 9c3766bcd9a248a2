package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// counters stands for an engine: it hands out its numbers, all from one moment.
type counters struct{ now metrics.Snapshot }

func (c *counters) Snapshot(s *metrics.Snapshot) { *s = c.now }

// A serving frontend of one's own: open a model, push steps and finished requests, mount the page.
func ExampleRecorder() {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	engine := &counters{now: metrics.Snapshot{Admitted: 3, Running: 2, Finished: [metrics.NumEndReasons]uint64{metrics.EndStop: 1}}}
	model, err := rec.OpenModel("tiny", []metrics.Operation{metrics.Chat}, engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()

	model.Step(&metrics.StepStats{Tokens: 12, Took: 8 * time.Millisecond})
	request := &metrics.Record{Operation: metrics.Chat, Arrival: rec.Now(), PromptTokens: 9, Finish: metrics.Stop}
	request.Open(1)
	request.Token(0, rec.Now(), 1)
	model.Finish(request)

	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec}))
	page, scrape := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	scrape.RemoteAddr = "127.0.0.1:40000" // without a key the page is this machine's
	mux.ServeHTTP(page, scrape)
	for line := range strings.Lines(page.Body.String()) {
		for _, family := range []string{"paddock_requests_", "paddock_num_requests_running", "paddock_iteration_tokens_sum"} {
			if strings.HasPrefix(line, family) {
				fmt.Print(line)
			}
		}
	}
	if err := metrics.CheckBooks(&engine.now); err != nil {
		fmt.Println(err)
	}
	// Output:
	// paddock_num_requests_running{model="tiny"} 2
	// paddock_requests_admitted_total{model="tiny"} 3
	// paddock_requests_finished_total{model="tiny",reason="stop"} 1
	// paddock_requests_finished_total{model="tiny",reason="length"} 0
	// paddock_requests_finished_total{model="tiny",reason="abort"} 0
	// paddock_requests_finished_total{model="tiny",reason="error"} 0
	// paddock_iteration_tokens_sum{model="tiny"} 12
}

// A route of one's own as an inference route: what it refuses is in the metrics too, under the model that owns it.
func ExampleInferenceRoute() {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	model, err := rec.OpenModel("tiny", []metrics.Operation{metrics.Chat}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()

	ask := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST a question", http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintln(w, "an answer") // of an engine, which fills metrics.FromContext(r.Context())
	}
	mux := http.NewServeMux()
	mux.Handle("/ask", metrics.InferenceRoute(model, metrics.Chat, http.HandlerFunc(ask)))
	mux.Handle("/metrics", metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, Auth: metrics.AuthOff}))
	service := metrics.InstrumentHTTP(rec, mux)

	for _, method := range []string{"POST", "GET"} {
		service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/ask", nil))
	}
	page := httptest.NewRecorder()
	service.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "paddock_request_failure_total") || strings.HasPrefix(line, "http_requests_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// paddock_request_failure_total{gen_ai_operation_name="chat",gen_ai_provider_name="paddock",gen_ai_request_model="tiny",origin="live",class="4xx",reason="method_not_allowed"} 1
	// http_requests_total{handler="/ask",method="GET",status="4xx"} 1
	// http_requests_total{handler="/ask",method="POST",status="2xx"} 1
}
