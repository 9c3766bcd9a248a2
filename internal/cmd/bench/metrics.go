package main

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// cost is what one kind of recording or reading costs.
type cost struct {
	Test       string  `json:"test"`
	Goroutines int     `json:"goroutines,omitempty"`
	NS         float64 `json:"ns"`              // of CPU, per call; for recording: wall time per call and goroutine
	Allocs     float64 `json:"allocs"`          // per call
	Bytes      int     `json:"bytes,omitempty"` // of the page
	Share      float64 `json:"share,omitempty"` // of two cores, at three scrapes a second
}

func (c cost) String() string {
	s := fmt.Sprintf("%-38s %12.0f ns  %8.2f allocs", c.Test, c.NS, c.Allocs)
	if c.Goroutines > 0 {
		s += fmt.Sprintf("  %d goroutines", c.Goroutines)
	}
	if c.Bytes > 0 {
		s += fmt.Sprintf("  %d bytes  %.3f %% of two cores at 3 a second", c.Bytes, 100*c.Share)
	}
	return s
}

// measureMetrics measures what watching costs: recording with one and two
// goroutines, and the CPU time of a scrape of the whole page.
func measureMetrics(repeat int, report func(any) error) error {
	rec := metrics.NewRecorder(metrics.RecorderOptions{ServiceInstanceID: "bench"})
	handlers := map[string]http.Handler{ // the one with vLLM's view first: it turns its recording on
		"both views": metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, Runtime: true, VLLM: true, Auth: metrics.AuthOff}),
		"native":     metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, Runtime: true, Auth: metrics.AuthOff}),
	}
	m, err := rec.OpenModel("bench", []metrics.Operation{metrics.Chat, metrics.TextCompletion}, busySource{})
	if err != nil {
		return err
	}
	defer m.Close()
	occupy(m)
	for _, goroutines := range []int{1, 2} {
		for _, r := range []struct {
			name string
			make func() func()
		}{
			{"record a step of one token", func() func() { return recordStep(m) }},
			{"record a finished request", func() func() { return recordFinish(m) }},
			{"record a finished request, traced", func() func() { return recordTraced(m) }},
		} {
			if err := report(recording(r.name, goroutines, repeat, r.make)); err != nil {
				return err
			}
		}
	}
	for _, page := range []struct{ name, view, accept, encoding string }{
		{"scrape, native", "native", "", ""},
		{"scrape, both views", "both views", "", ""},
		{"scrape, both views, gzip", "both views", "", "gzip"},
		{"scrape, both views, OpenMetrics, gzip", "both views", "application/openmetrics-text;version=1.0.0", "gzip"},
	} {
		c, err := scraping(handlers[page.view], page.accept, page.encoding, repeat)
		if err != nil {
			return err
		}
		c.Test = page.name
		if err := report(c); err != nil {
			return err
		}
	}
	return nil
}

// occupy makes every series that a served model can have in ordinary operation.
func occupy(m *metrics.Model) {
	for _, op := range []metrics.Operation{metrics.Chat, metrics.TextCompletion} {
		for origin := range metrics.NumOrigins {
			for fail := range metrics.NumFailReasons {
				r := finishedRecord()
				r.Operation, r.Origin, r.Fail = op, metrics.Origin(origin), metrics.FailReason(fail)
				r.TraceID[0], r.SpanID[0] = 1, 1
				m.Finish(r)
			}
		}
	}
}

func finishedRecord() *metrics.Record {
	r := &metrics.Record{
		Arrival: time.Second, Queued: time.Second + 1, Scheduled: time.Second + 2,
		PromptTokens: 100, CachedTokens: 16, Finish: metrics.Stop,
	}
	r.Open(1)
	for i := range 50 {
		r.Token(0, time.Second+time.Duration(20+10*i)*time.Millisecond, 1)
	}
	r.Finished = r.Last + 1
	return r
}

func recordStep(m *metrics.Model) func() {
	s := &metrics.StepStats{Tokens: 1, Took: 8 * time.Millisecond, Gaps: []metrics.TokenGap{{Gap: 9 * time.Millisecond, N: 1}}}
	return func() { m.Step(s) }
}

// batch is how many records are made at a time, since each can be finished once.
const batch = 4096

func recordFinish(m *metrics.Model) func() { return finisher(m, func(*metrics.Record) {}) }

func recordTraced(m *metrics.Model) func() {
	return finisher(m, func(r *metrics.Record) { r.TraceID[3], r.SpanID[3] = 7, 7 })
}

func finisher(m *metrics.Model, prepare func(*metrics.Record)) func() {
	records := make([]*metrics.Record, batch)
	for i := range records {
		records[i] = finishedRecord()
		prepare(records[i])
	}
	next := 0
	return func() {
		m.Finish(records[next])
		next++
	}
}

// recording times record, batch calls a goroutine, and takes the median of the
// repetitions.
func recording(name string, goroutines, repeat int, make func() func()) cost {
	rounds := 10 * repeat
	c := cost{Test: name, Goroutines: goroutines}
	var ns []float64
	for range max(3, repeat) {
		var took time.Duration
		var mallocs uint64
		for range rounds {
			t, n := together(goroutines, make)
			took, mallocs = took+t, mallocs+n
		}
		ns = append(ns, float64(took.Nanoseconds())/float64(rounds*batch))
		c.Allocs = float64(mallocs) / float64(rounds*batch*goroutines)
	}
	slices.Sort(ns)
	c.NS = ns[len(ns)/2]
	return c
}

// together runs batch calls on each goroutine at once and returns the wall time
// and what was allocated meanwhile.
func together(goroutines int, make func() func()) (time.Duration, uint64) {
	var (
		ready, done sync.WaitGroup
		start       atomic.Bool
		before      runtime.MemStats
		after       runtime.MemStats
	)
	for range goroutines {
		ready.Add(1)
		record := make() // outside the time
		done.Go(func() {
			ready.Done()
			for !start.Load() {
				runtime.Gosched()
			}
			for range batch {
				record()
			}
		})
	}
	ready.Wait()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	start.Store(true)
	done.Wait()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return took, after.Mallocs - before.Mallocs
}

// scraping is the CPU time of a page, garbage collection included.
func scraping(h http.Handler, accept, encoding string, repeat int) (cost, error) {
	scrapes := 60 * repeat
	var c cost
	var ns []float64
	for range max(3, repeat) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		begin := cpuTime()
		for range scrapes {
			w := &page{header: http.Header{}}
			r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
			if err != nil {
				return c, err
			}
			r.RemoteAddr = "127.0.0.1:1"
			if accept != "" {
				r.Header.Set("Accept", accept)
			}
			if encoding != "" {
				r.Header.Set("Accept-Encoding", encoding)
			}
			h.ServeHTTP(w, r)
			if w.status != 0 && w.status != http.StatusOK {
				return c, fmt.Errorf("the page answers %d", w.status)
			}
			c.Bytes = w.n
		}
		runtime.GC()
		ns = append(ns, float64((cpuTime()-begin).Nanoseconds())/float64(scrapes))
		runtime.ReadMemStats(&after)
		c.Allocs = float64(after.Mallocs-before.Mallocs) / float64(scrapes)
	}
	slices.Sort(ns)
	c.NS = ns[len(ns)/2]
	c.Share = 3 * c.NS / 2e9
	return c, nil
}

// page is a ResponseWriter that counts.
type page struct {
	header http.Header
	status int
	n      int
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(s int)   { p.status = s }
func (p *page) Write(b []byte) (int, error) {
	p.n += len(b)
	return io.Discard.Write(b)
}

// busySource is the snapshot of an engine at work, with speculation and estimates,
// so that every family of the page has its series.
type busySource struct{}

func (busySource) Snapshot(s *metrics.Snapshot) {
	*s = metrics.Snapshot{
		Admitted: 1234567, Running: 7, PagesUsed: 700, PagesFree: 324, PagesCached: 300, PagesTotal: 1024, PageSize: 16,
		PrefixQueries: 2345678, PrefixHits: 987654, Estimated: true, Flops: 1 << 60, ReadBytes: 1 << 50, WriteBytes: 1 << 45,
	}
	s.Finished[metrics.EndStop] = 1234560
	s.Spec.Positions, s.Spec.Drafts, s.Spec.DraftTokens, s.Spec.AcceptedTokens = 8, 4321, 34567, 23456
}
