package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/metrics"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scraper reads a page as benchmark clients do: any format, no key, one scrape
// begun before the last has ended, and a single bad answer ends it for good.
type scraper struct {
	url    string
	strict *strictParser // nil: there is none
	client http.Client

	scrapes  atomic.Int64 // good ones
	missed   atomic.Int64 // no answer at all: reported, and gone on after
	parsed   atomic.Int64 // by the other parser, too
	mu       sync.Mutex
	disabled error
	buckets  map[string][]float64 // bounds of each histogram: the first ones seen must stay
	types    map[string]dto.MetricType
}

func newScraper(t *testing.T, url string) *scraper {
	return &scraper{
		url: url, strict: strict(t), buckets: map[string][]float64{}, types: map[string]dto.MetricType{},
		client: http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}},
	}
}

// disable ends the collection, as the clients do after one answer that they can't use.
func (s *scraper) disable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disabled == nil {
		s.disabled = fmt.Errorf("after %d scrapes: %w", s.scrapes.Load(), err)
	}
}

func (s *scraper) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disabled
}

// reach is the first question: is there anything? HEAD in older clients, GET in
// newer ones.
func (s *scraper) reach() error {
	for _, method := range []string{"HEAD", "GET"} {
		if _, _, err := s.ask(method); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}

// ask sends the headers that an HTTP client of Python sends by itself.
func (s *scraper) ask(method string) (status int, page []byte, err error) {
	q, err := http.NewRequest(method, s.url, nil)
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Accept", "*/*")
	q.Header.Set("Accept-Encoding", "gzip, deflate")
	res, err := s.client.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body := io.Reader(res.Body)
	if res.Header.Get("Content-Encoding") == "gzip" && method != "HEAD" {
		if body, err = gzip.NewReader(body); err != nil {
			return 0, nil, err
		}
	}
	if page, err = io.ReadAll(body); err != nil {
		return 0, nil, err
	}
	if res.StatusCode != 200 {
		return res.StatusCode, page, fmt.Errorf("status %d: %.200s", res.StatusCode, page)
	}
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain") {
		return 200, page, fmt.Errorf("the type for */* is %q", ct)
	}
	return 200, page, nil
}

// collect scrapes until stop or a bad answer. Its counters may never go down: a
// client takes that for a restart.
func (s *scraper) collect(stop func() bool) {
	last := map[string]float64{}
	for s.err() == nil && !stop() {
		status, page, err := s.ask("GET")
		switch {
		case status == 0 && err != nil: // no answer, or half of one: the connection was cut
			s.missed.Add(1)
			time.Sleep(time.Millisecond)
			continue
		case err != nil:
			s.disable(err)
			return
		}
		if err := s.take(page, last); err != nil {
			s.disable(fmt.Errorf("%w\n%.2000s", err, page))
			return
		}
		if n := s.scrapes.Add(1); s.strict != nil && n%100 == 0 {
			if _, err := s.strict.read("classic", page); err != nil {
				s.disable(err)
				return
			}
			s.parsed.Add(1)
		}
	}
}

// take parses a page and holds it to what was seen before.
func (s *scraper) take(page []byte, last map[string]float64) error {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return err
	}
	if heads := bytes.Count(page, []byte("# TYPE ")); heads != len(families) || heads == 0 {
		return fmt.Errorf("%d families, %d TYPE lines", len(families), heads)
	}
	now := make(map[string]float64, len(last))
	for name, f := range families {
		if strings.HasSuffix(name, "_created") || strings.Contains(name, "_uptime") {
			return fmt.Errorf("%s is a name that clients skip", name)
		}
		if err := s.sameType(name, f.GetType()); err != nil {
			return err
		}
		for _, m := range f.GetMetric() {
			key := seriesKey(name, m)
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				now[key] = m.GetCounter().GetValue()
			case dto.MetricType_HISTOGRAM:
				now[key] = float64(m.GetHistogram().GetSampleCount())
				now[key+" sum"] = m.GetHistogram().GetSampleSum()
				if err := s.sameBuckets(name, m.GetHistogram()); err != nil {
					return err
				}
			case dto.MetricType_GAUGE:
				if v := m.GetGauge().GetValue(); math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("%s is %v", key, v)
				}
			}
		}
	}
	for key, v := range now {
		if math.IsNaN(v) || v < last[key] {
			return fmt.Errorf("%s went from %v to %v", key, last[key], v)
		}
	}
	clear(last)
	for key, v := range now {
		last[key] = v
	}
	return nil
}

func (s *scraper) sameType(name string, t dto.MetricType) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.types[name]; ok && was != t {
		return fmt.Errorf("%s was a %v and is a %v", name, was, t)
	}
	s.types[name] = t
	return nil
}

func (s *scraper) sameBuckets(name string, h *dto.Histogram) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.buckets[name]
	if !ok {
		for _, b := range h.GetBucket() {
			s.buckets[name] = append(s.buckets[name], b.GetUpperBound())
		}
		return nil
	}
	if !slices.EqualFunc(was, h.GetBucket(), func(bound float64, b *dto.Bucket) bool { return bound == b.GetUpperBound() }) {
		return fmt.Errorf("the buckets of %s were %v and are %v", name, was, h.GetBucket())
	}
	return nil
}

// seriesKey is a series' name and labels.
func seriesKey(name string, m *dto.Metric) string {
	key := []byte(name)
	for _, l := range m.GetLabel() {
		key = append(append(append(append(key, ' '), l.GetName()...), '='), l.GetValue()...)
	}
	return string(key)
}

// overlapping is how many scrapes are under way at once: at three a second a slow
// page would be asked for again before it has come.
const overlapping = 4

// begin starts the collection; wait ends it.
func (s *scraper) begin(stop func() bool) (wait func()) {
	var all sync.WaitGroup
	for range overlapping {
		all.Go(func() { s.collect(stop) })
	}
	return all.Wait
}

// An hour of scrapes, three a second.
const scrapesOfAnHour = 10800

// TestScraper: a scraper that one bad answer ends lives through an hour's scrapes,
// from before there is a model, through load, a drain, that model's end, and the
// next one's life on the same recorder.
func TestScraper(t *testing.T) {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	server := httptest.NewServer(metrics.HandlerFor(metrics.HandlerOptions{Recorder: rec, VLLM: true, Runtime: true}))
	defer server.Close()
	s := newScraper(t, server.URL+"/metrics")
	if err := s.reach(); err != nil {
		t.Fatal(err)
	}
	wait := s.begin(func() bool { return s.scrapes.Load() >= scrapesOfAnHour })
	until := func(n int64) { // lets the scrapes come to a count
		for s.err() == nil && s.scrapes.Load() < n {
			time.Sleep(time.Millisecond)
		}
	}
	until(400)
	for i, name := range []string{"one", "two"} {
		eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{
			Name: name, Metrics: rec, Threads: 1, Limits: paddock.Limits{MaxSequences: 4, MaxQueue: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		end := keepBusy(eng)
		until(int64(4800 + 5000*i))
		if err := eng.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		until(int64(5000 + 5000*i))
		end()
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
		until(int64(5400 + 5000*i))
	}
	wait()
	if err := s.err(); err != nil {
		t.Fatalf("the scraper is disabled %v", err)
	}
	if s.missed.Load() != 0 || s.scrapes.Load() < scrapesOfAnHour || rec.Faults() != 0 {
		t.Errorf("%d scrapes, %d without an answer, %d faults of metrics code", s.scrapes.Load(), s.missed.Load(), rec.Faults())
	}
	t.Logf("%d scrapes, %d of them also by the Python parser, %d families; never disabled", s.scrapes.Load(), s.parsed.Load(), len(s.types))
	checkOpenMetrics(t, server.URL)
}

// keepBusy sends requests until end is called, some of which are refused or hang up.
func keepBusy(eng *paddock.Engine) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range 10 { // of which some are refused: the queue is short
		all.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				one, hangUp := context.WithCancel(ctx)
				if k%5 == 4 {
					time.AfterFunc(5*time.Millisecond, hangUp)
				}
				_, _ = eng.Complete(one, paddock.Request{Prompt: fmt.Sprintf("%d counts to %d", i, k), MaxTokens: 24, IgnoreEOS: true, N: 1 + k%2})
				hangUp()
				time.Sleep(40 * time.Millisecond) // what is under test is the page, not the engine
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// TestScraperOfAServer: the same scraper from the server's first answer to its
// last, a drain under load included.
func TestScraperOfAServer(t *testing.T) {
	addr := freeAddress(t)
	s := newScraper(t, "http://"+addr+"/metrics")
	server := serverCommand(t, "--addr", addr, "--metrics-vllm")
	var over atomic.Bool
	wait := s.begin(over.Load)
	stop := startProcess(t, server)
	for s.err() == nil && s.scrapes.Load() < 300 {
		time.Sleep(time.Millisecond)
	}
	var load sync.WaitGroup
	for i := range 6 {
		load.Go(func() {
			c := call{path: "/v1/completions", body: fmt.Sprintf(`{"model":"demo","prompt":"%d","max_tokens":600,"ignore_eos":true}`, i)}
			if status, reply, err := c.do(t.Context(), addr); err != nil || status != 200 {
				t.Errorf("status %d, %v: %.200s", status, err, reply)
			}
		})
	}
	for at := s.scrapes.Load(); s.err() == nil && s.scrapes.Load() < at+100; { // under load
		time.Sleep(time.Millisecond)
	}
	stop() // drains: the requests end first
	load.Wait()
	over.Store(true)
	wait()
	if err := s.err(); err != nil {
		t.Fatalf("the scraper is disabled %v", err)
	}
	t.Logf("%d scrapes from the server's start to its end, all good", s.scrapes.Load())
}
