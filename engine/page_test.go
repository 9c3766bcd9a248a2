package engine

import (
	"bufio"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/metrics"
)

// scraped is a page as a scraper takes it in: its samples by name.
type scraped map[string][]scrapedSample

type scrapedSample struct {
	labels string // as they are printed, in braces; "": none
	value  float64
}

func scrape(t testing.TB, o metrics.HandlerOptions) scraped {
	t.Helper()
	w := httptest.NewRecorder()
	o.Auth = metrics.AuthOff
	metrics.HandlerFor(o).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the page has status %d", w.Code)
	}
	page, err := parsePage(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func parsePage(text io.Reader) (scraped, error) {
	page := scraped{}
	for s := bufio.NewScanner(text); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, err
		}
		name, labels := line[:at], ""
		if brace := strings.IndexByte(name, '{'); brace >= 0 {
			name, labels = name[:brace], name[brace:]
		}
		page[name] = append(page[name], scrapedSample{labels, v})
	}
	return page, nil
}

func scrapeOf(t testing.TB, e *Engine) scraped {
	t.Helper()
	return scrape(t, metrics.HandlerOptions{Recorder: e.Metrics()})
}

// sum adds the samples of a name that carry each of the labels, as label="value".
func (p scraped) sum(name string, labels ...string) float64 {
	total := 0.0
next:
	for _, sample := range p[name] {
		for _, l := range labels {
			if !strings.Contains(sample.labels, "{"+l) && !strings.Contains(sample.labels, ","+l) {
				continue next
			}
		}
		total += sample.value
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
