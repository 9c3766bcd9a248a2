package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/examples/studio"
	"github.com/paddock-go/paddock/metrics"
)

// fakeRunner is a server behind the page that does what a test says: it loads, drains,
// wants a key, is gone, or answers with hostile text. Its metrics are a real recorder's.
type fakeRunner struct {
	url   string
	rec   *metrics.Recorder
	model *metrics.Model
	ended chan struct{} // a streamed answer's reader went away

	mu         sync.Mutex
	mode       string // ready, loading, draining, key, gone, off
	name       string
	operations []string
	answer     string // of a question: forever, fault, or text
	asked      []string
	strange    []string // requests without the page's origin
}

const hostileName = `<img src=x onerror="document.title='owned'">` + "\u202e" + `demo-with-a-name-that-is-much-longer-than-any-screen-is-wide-and-has-no-space-in-it-at-all-`

func newFakeRunner(t *testing.T) *fakeRunner {
	f := &fakeRunner{rec: metrics.NewRecorder(metrics.RecorderOptions{}), ended: make(chan struct{}, 10), mode: "loading", name: hostileName, operations: []string{"chat", "text_completion"}}
	var err error
	if f.model, err = f.rec.OpenModel(hostileName, []metrics.Operation{metrics.Chat}, nil); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	page := studio.Handler(studio.Options{})
	mux.Handle("/{$}", page)
	mux.Handle("/studio/", page)
	data := http.NewServeMux()
	data.Handle("/api/", metrics.APIHandler(metrics.HandlerOptions{Recorder: f.rec}))
	data.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ready"}`) })
	data.HandleFunc("/v1/models", f.models)
	data.HandleFunc("/v1/chat/completions", f.complete)
	data.HandleFunc("/v1/completions", f.complete)
	mux.Handle("/", f.guard(data))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.url = server.URL + "/"
	return f
}

// set changes what the server does.
func (f *fakeRunner) set(change func(*fakeRunner)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// guard refuses by the mode, and looks at each request's headers.
func (f *fakeRunner) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		mode := f.mode
		f.asked = append(f.asked, r.Method+" "+r.URL.Path)
		if r.Header.Get("X-Paddock-Origin") != "studio" {
			f.strange = append(f.strange, r.URL.Path)
		}
		f.mu.Unlock()
		refuse := func(status int, code, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
		}
		metricsPath := strings.HasPrefix(r.URL.Path, "/api/")
		switch {
		case mode == "gone":
			panic(http.ErrAbortHandler)
		case mode == "key" && r.URL.Path != "/readyz" && r.Header.Get("Authorization") != "Bearer sesame":
			refuse(401, "invalid_api_key", "a key is wanted here: Authorization: Bearer KEY")
		case mode == "loading" && !metricsPath:
			refuse(503, "loading", "the model is being loaded")
		case mode == "draining" && !metricsPath:
			refuse(503, "not_ready", "the engine takes no requests now")
		case mode == "off" && metricsPath:
			refuse(404, "not_found", "metrics are off")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (f *fakeRunner) models(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"id": f.name, "max_model_len": 2048, "operations": f.operations}}}) // an error is the page's having gone
}

const hostileText = `<b>bold</b><script>document.title="owned"</script> & &lt; ` + "\u2028"

func (f *fakeRunner) complete(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	answer := f.answer
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v any) {
		b, _ := json.Marshal(v) // of what can be marshalled
		fmt.Fprintf(w, "data: %s\r\n\r\n", b)
		_ = http.NewResponseController(w).Flush() // an error is the page's having gone
	}
	piece := func(text string) {
		if r.URL.Path == "/v1/completions" {
			event(map[string]any{"choices": []any{map[string]any{"text": text}}})
			return
		}
		event(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"content": text}}}})
	}
	for _, c := range hostileText { // each character alone, so that markup would have to survive being in pieces
		piece(string(c))
	}
	switch answer {
	case "forever":
		<-r.Context().Done()
		f.ended <- struct{}{}
	case "fault":
		event(map[string]any{"error": map[string]any{"message": "the engine <i>failed</i>"}})
	case "broken":
	default:
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

// record ends a request in the recorder, with hostile ids.
func (f *fakeRunner) record() {
	r := &metrics.Record{Operation: metrics.Chat, Arrival: 1, Queued: 2, Scheduled: 3, Finished: time.Second, PromptTokens: 9, ID: hostileName, Route: "<b>"}
	r.Open(1)
	r.Token(0, 500*time.Millisecond, 1)
	r.Token(0, 900*time.Millisecond, 1)
	f.model.Finish(r)
}

// has tells whether a request was made.
func (f *fakeRunner) has(request string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.asked, request)
}
