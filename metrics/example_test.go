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
