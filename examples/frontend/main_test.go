package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *frontend {
	t.Helper()
	f, err := newFrontend(metrics.NewRecorder(metrics.RecorderOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.eng.Close() })
	return f
}

func (f *frontend) ask(tier, question string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.mux().ServeHTTP(w, httptest.NewRequest("POST", "/say?tier="+tier, strings.NewReader(question)))
	return w
}

func TestSay(t *testing.T) {
	f := start(t)
	const question = "What does paddock_kv_pages_used count?"
	want, err := f.eng.Complete(context.Background(), paddock.Request{Messages: []paddock.Message{{Role: "user", Content: question}}, MaxTokens: 128})
	if err != nil {
		t.Fatal(err)
	}
	for tier := range tiers {
		if w := f.ask(tier, question); w.Code != 200 || w.Body.String() != want.Text+"\n" {
			t.Errorf("%s: status %d, %q, want %q", tier, w.Code, w.Body, want.Text)
		}
	}
	if w := f.ask("silver", question); w.Code != 400 {
		t.Errorf("an unknown tier: %d", w.Code)
	}
	if w := f.ask("gold", strings.Repeat("x", 4097)); w.Code != 413 {
		t.Errorf("a long question: %d", w.Code)
	}
	w := httptest.NewRecorder()
	f.mux().ServeHTTP(w, httptest.NewRequest("GET", "/load", nil))
	if want := "running 0\nwaiting 0\npages used 0 of 1024\n"; w.Body.String() != want {
		t.Errorf("%q, want %q", w.Body, want)
	}
	w = httptest.NewRecorder()
	scrape := httptest.NewRequest("GET", "/metrics", nil)
	scrape.RemoteAddr = "127.0.0.1:7" // the page is this machine's
	f.mux().ServeHTTP(w, scrape)
	if line := `paddock_request_success_total{gen_ai_operation_name="chat",`; !strings.Contains(w.Body.String(), line) {
		t.Errorf("the page has no %s", line)
	}
}

// TestTiers fills the batch and the queue with free callers: the next one is turned
// away, and a gold one who finds room in the queue overtakes those who wait.
func TestTiers(t *testing.T) {
	f := start(t)
	var held []*paddock.Stream
	var readers sync.WaitGroup
	fill := func() {
		for i := 0; ; i++ {
			s, err := f.eng.Submit(context.Background(), paddock.Request{Prompt: fmt.Sprint("free ", i), IgnoreEOS: true, MaxTokens: 1800, Tenant: "free"})
			if full := (*paddock.QueueFullError)(nil); errors.As(err, &full) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
			readers.Go(func() {
				for range s.All() {
				}
			})
		}
	}
	fill()
	w := f.ask("gold", "hello")
	for ; w.Code == 200; w = f.ask("gold", "hello") { // a place came free in between
		fill()
	}
	if after, _ := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != 429 || after < 1 {
		t.Errorf("status %d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	for _, s := range held[len(held)-2:] { // two who wait give up
		s.Close()
	}
	before := f.eng.Stats().Admitted
	free, gold := make(chan struct{}), make(chan struct{})
	go func() { defer close(free); f.ask("free", "hello") }()
	go func() {
		defer close(gold)
		if w := f.ask("gold", "hello"); w.Code != 200 {
			t.Errorf("gold: status %d: %s", w.Code, w.Body)
		}
	}()
	for f.eng.Stats().Admitted < before+2 {
		time.Sleep(time.Millisecond)
	}
	held[0].Close() // one place in the batch, and many who want it
	select {
	case <-gold:
	case <-free:
		t.Error("free came before gold")
	}
	for _, s := range held {
		s.Close()
	}
	<-free
	<-gold
	readers.Wait()
}
