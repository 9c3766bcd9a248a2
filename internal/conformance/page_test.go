package conformance

import (
	"strconv"
	"strings"
	"testing"
)

// page is a classic page: the value of each series, by its text.
type page map[string]float64

// scrape reads the page of a server.
func scrape(t *testing.T, target string) page {
	t.Helper()
	_, text := fetchPage(t, "http://"+target+"/metrics", "")
	p := page{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		p[line[:at]] = v
	}
	return p
}

// sum is that of all series of a name that have all of some labels, as name="value".
func (p page) sum(name string, labels ...string) (sum float64) {
	for series, v := range p {
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		has := true
		for _, l := range labels {
			has = has && strings.Contains(series, l)
		}
		if has {
			sum += v
		}
	}
	return sum
}
