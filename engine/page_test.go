package engine

import (
	"bufio"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/metrics"
)

// scraped is a page as a scraper takes it in: name{labels} → value.
type scraped map[string]float64

func scrape(t testing.TB, o metrics.HandlerOptions) scraped {
	t.Helper()
	w := httptest.NewRecorder()
	o.Auth = metrics.AuthOff
	metrics.HandlerFor(o).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the page has status %d", w.Code)
	}
	page := scraped{}
	for s := bufio.NewScanner(w.Body); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		page[line[:at]] = v
	}
	return page
}

func scrapeOf(t testing.TB, e *Engine) scraped {
	t.Helper()
	return scrape(t, metrics.HandlerOptions{Recorder: e.Metrics()})
}

// sum adds the samples of a name that carry each of the labels, as label="value".
func (p scraped) sum(name string, labels ...string) float64 {
	total := 0.0
next:
	for sample, v := range p {
		if bare, _, _ := strings.Cut(sample, "{"); bare != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(sample, "{"+l) && !strings.Contains(sample, ","+l) {
				continue next
			}
		}
		total += v
	}
	return total
}

// want fails unless the sum of a name's samples is v.
func (p scraped) want(t testing.TB, v float64, name string, labels ...string) {
	t.Helper()
	if got := p.sum(name, labels...); got != v {
		t.Errorf("%s%v is %v, want %v", name, labels, got, v)
	}
}
