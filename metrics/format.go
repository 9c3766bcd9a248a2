package metrics

import (
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// format is a way to write the page.
type format struct {
	contentType string
	match       func(*mediaRange) int                         // how closely a clause of Accept names it; 0: not at all
	write       func(*pageWriter, []*dto.MetricFamily) []byte // the page
}

// The formats, as indices of formats.
const (
	classicFormat = iota
	openMetrics100Format
	openMetrics001Format
	protobufFormat

	numFormats = iota
)

// formats. The two versions of OpenMetrics differ in their name only; 0.0.1 answers those who ask for no version. Classic text
// carries no parameter escaping: names on the page are of the old kind, so that none is needed.
var formats = [numFormats]format{
	classicFormat: {"text/plain; version=0.0.4; charset=utf-8", func(r *mediaRange) int {
		switch {
		case r.name == "text/plain" && r.version == "0.0.4" && isUTF8(r.charset):
			return 4
		case r.name == "text/plain" && r.version == "" && isUTF8(r.charset):
			return 3
		case r.name == "text/*":
			return 2
		case r.name == "*/*":
			return 1
		}
		return 0
	}, (*pageWriter).classic},

	openMetrics100Format: {"application/openmetrics-text; version=1.0.0; charset=utf-8", func(r *mediaRange) int {
		if r.name == "application/openmetrics-text" && r.version == "1.0.0" && isUTF8(r.charset) {
			return 4
		}
		return 0
	}, (*pageWriter).openMetrics},

	openMetrics001Format: {"application/openmetrics-text; version=0.0.1; charset=utf-8", func(r *mediaRange) int {
		switch {
		case r.name == "application/openmetrics-text" && r.version == "0.0.1" && isUTF8(r.charset):
			return 4
		case r.name == "application/openmetrics-text" && r.version == "" && isUTF8(r.charset):
			return 3
		}
		return 0
	}, (*pageWriter).openMetrics},

	protobufFormat: {"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", func(r *mediaRange) int {
		if r.name == "application/vnd.google.protobuf" && r.proto == "io.prometheus.client.MetricFamily" && r.encoding == "delimited" {
			return 4
		}
		return 0
	}, (*pageWriter).protobuf},
}

// isUTF8 says whether a charset parameter, if there is one, asks for UTF-8.
func isUTF8(charset string) bool { return charset == "" || strings.EqualFold(charset, "utf-8") }
