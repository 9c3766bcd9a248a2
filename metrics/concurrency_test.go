package metrics

import (
	"fmt"
	"io"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Writers push whole requests and steps while scrapers read. On every page each request must be in all its families or in none,
// no counter may go down, and what a writer finished before a scrape began must be on that page.
func TestScrapesDuringRecording(t *testing.T) {
	const writers, scrapers, requests = 4, 2, 400
	r := newTestRecorder(RecorderOptions{})
	var source published
	m := mustOpen(t, r, "m", &source, Chat)
	h := HandlerFor(HandlerOptions{Recorder: r})
	b := base(Chat, "m", Live)
	var pushed atomic.Int64
	var writing, scraping sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for i := range requests {
				rec := finished(Chat, Live, 3)
				if i%4 == 0 {
					rec.Fail = EngineError
				}
				m.Finish(rec)
				m.Step(&StepStats{Tokens: 3, Took: ms, Gaps: []TokenGap{{Chat, Live, 30 * ms, 3}}})
				pushed.Add(1)
			}
		})
	}
	writing.Go(func() { // the loop: it alone publishes
		var s Snapshot
		for range requests {
			s.Admitted++
			s.Running = 1
			source.publish(s)
			s.Running = 0
			s.Finished[EndStop]++
			source.publish(s)
		}
	})
	stop := make(chan struct{})
	for range scrapers {
		scraping.Go(func() {
			var last series
			for n := 0; ; n++ {
				atLeast := float64(pushed.Load())
				s := parse(t, get(t, h))
				ok := s["gen_ai_server_request_duration_seconds_count{"+b+"}"]
				bad := s["gen_ai_server_request_duration_seconds_count{"+b+`,error_type="500"}`]
				for what, pair := range map[string][2]float64{
					"successes":      {ok, s["paddock_request_success_total{"+b+`,finish_reason="stop"}`]},
					"failures":       {bad, s["paddock_request_failure_total{"+b+`,class="5xx",reason="engine_error"}`]},
					"first tokens":   {ok, s["gen_ai_server_time_to_first_token_seconds_count{"+b+"}"]},
					"queue times":    {ok + bad, s["paddock_request_queue_time_seconds_count{"+b+"}"]},
					"prompt sizes":   {100 * (ok + bad), s["paddock_request_prompt_tokens_sum{"+b+"}"]},
					"step tokens":    {3 * s[`paddock_iteration_seconds_count{model="m"}`], s[`paddock_iteration_tokens_sum{model="m"}`]},
					"gaps":           {s[`paddock_iteration_tokens_sum{model="m"}`], s["paddock_inter_token_latency_seconds_count{"+b+"}"]},
					"admitted":       {s[`paddock_requests_admitted_total{model="m"}`], s[`paddock_num_requests_running{model="m"}`] + s[`paddock_requests_finished_total{model="m",reason="stop"}`]},
					"queue time sum": {18 * (ok + bad), round(1000 * s["paddock_request_queue_time_seconds_sum{"+b+"}"])},
				} {
					if pair[0] != pair[1] {
						t.Errorf("scrape %d: %s: %v and %v differ", n, what, pair[0], pair[1])
					}
				}
				if ok+bad < atLeast {
					t.Errorf("scrape %d: %v requests, %v had ended before it began", n, ok+bad, atLeast)
				}
				for name, v := range last {
					if s[name] < v && name != `paddock_num_requests_running{model="m"}` {
						t.Errorf("scrape %d: %s went down from %v to %v", n, name, v, s[name])
					}
				}
				last = s
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	scraping.Wait()
	s := scrapeOf(t, r)
	s.want(t, "gen_ai_server_request_duration_seconds_count{"+b+"}", writers*requests*3/4)
	s.want(t, "gen_ai_server_request_duration_seconds_count{"+b+`,error_type="500"}`, writers*requests/4)
	s.want(t, `paddock_requests_finished_total{model="m",reason="stop"}`, requests)
	if r.Faults() != 0 {
		t.Errorf("%d faults", r.Faults())
	}
}

func round(v float64) float64 { return float64(int64(v + 0.5)) }

// Models come and go while scrapes run; after Close has returned a source isn't read.
func TestModelsComeAndGoDuringScrapes(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	h := HandlerFor(HandlerOptions{Recorder: r})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			parse(t, get(t, h))
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	var owners sync.WaitGroup
	for i := range 3 {
		owners.Go(func() {
			for range 30 {
				var closed atomic.Bool
				m := mustOpen(t, r, fmt.Sprint("m", i), funcSource(func(*Snapshot) {
					if closed.Load() {
						t.Error("a source was read after Close")
					}
				}), Chat)
				m.Finish(finished(Chat, Batch, 1))
				m.Close()
				closed.Store(true)
			}
		})
	}
	owners.Wait()
	close(stop)
	wg.Wait()
}

func BenchmarkStep(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(b, r, "m", nil, Chat)
	for _, n := range []int{1, 64} {
		s := &StepStats{Tokens: n, Took: ms}
		for range n {
			s.Gaps = append(s.Gaps, TokenGap{Chat, Live, 10 * ms, 1})
		}
		b.Run(fmt.Sprintf("sequences=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Step(s)
			}
		})
	}
}

func BenchmarkFinish(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(b, r, "m", nil, Chat)
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			b.ReportAllocs()
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					rec := finished(Chat, Live, 20)
					for range b.N / goroutines {
						rec.held.word.Store(0)
						m.Finish(rec)
					}
				})
			}
			wg.Wait()
		})
	}
}

func BenchmarkScrape(b *testing.B) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(b, r, "m", busySnapshot(), Chat, TextCompletion)
	h := HandlerFor(HandlerOptions{Recorder: r})
	req := fromHere("GET", "/metrics")
	w := &discard{ResponseRecorder: httptest.NewRecorder()}
	b.ReportAllocs()
	for b.Loop() {
		m.Finish(finished(Chat, Live, 3))
		h.ServeHTTP(w, req)
	}
	b.ReportMetric(float64(w.n)/float64(b.N), "bytes/page")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)*3/float64(2*time.Second)*100, "%-of-2-cores-at-3/s")
}

// discard is a client that reads everything.
type discard struct {
	*httptest.ResponseRecorder
	n int64
}

func (d *discard) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return io.Discard.Write(p)
}
