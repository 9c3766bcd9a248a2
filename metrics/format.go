package metrics

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// format is a way to write the page.
type format struct {
	contentType string
	write       func(io.Writer, []*dto.MetricFamily) error
}

// classic is the format of whoever doesn't ask for another.
var classic = format{"text/plain; version=0.0.4; charset=utf-8", classicText}

// chooseFormat reads Accept. The choice is made here, and not by the library that encodes, so that a new version of it can't
// change what a scraper gets: there are versions that answer */* with different formats. Classic text is the only one so far.
func chooseFormat(http.Header) format { return classic }

// acceptsGzip reads Accept-Encoding: gzip, or *, with a weight above 0.
func acceptsGzip(h http.Header) bool {
	for _, line := range h["Accept-Encoding"] {
		for clause := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(clause, ";")
			name = strings.TrimSpace(name)
			if strings.EqualFold(name, "gzip") && weight(params) > 0 {
				return true
			}
		}
	}
	return false
}

// weight is the q parameter among params: 1 where there is none, 0 where it is no number from 0 to 1.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}
