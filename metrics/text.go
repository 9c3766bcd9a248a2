package metrics

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"strconv"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// pageWriter writes families in one of the formats. It keeps its memory from page to page; one page at a time.
type pageWriter struct {
	scrape scrape // what the families of the recorder are made of
	b      []byte
	om     bool // the page is OpenMetrics
	bounds []boundText
	names  omNames
	fault  func(where string, err error) // takes what had to be left out

	zipper *gzip.Writer
	zipped bytes.Buffer
}

var pageWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return &pageWriter{zipper: z}
}}

// zip compresses a page.
func (w *pageWriter) zip(page []byte) []byte {
	w.zipped.Reset()
	w.zipper.Reset(&w.zipped)
	w.zipper.Write(page) // into memory: neither fails
	w.zipper.Close()
	return w.zipped.Bytes()
}

// boundText is a bucket's bound as the page has it. Histograms come in rows that share their bounds.
type boundText struct {
	bound float64
	om    bool
	text  []byte
}

// classic writes the text format 0.0.4.
func (w *pageWriter) classic(families []*dto.MetricFamily) []byte {
	w.b, w.om = w.b[:0], false
	for _, f := range families {
		name := f.GetName()
		w.header(name, f.GetHelp(), classicTypes[f.GetType()], "")
		for _, m := range f.Metric {
			w.metric(name, f.GetType(), m)
		}
	}
	return w.b
}

var classicTypes = [...]string{
	dto.MetricType_COUNTER:         "counter",
	dto.MetricType_GAUGE:           "gauge",
	dto.MetricType_SUMMARY:         "summary",
	dto.MetricType_UNTYPED:         "untyped",
	dto.MetricType_HISTOGRAM:       "histogram",
	dto.MetricType_GAUGE_HISTOGRAM: "histogram", // the format has no other word
}

// protobuf writes each family as a length and a message.
func (w *pageWriter) protobuf(families []*dto.MetricFamily) []byte {
	out := bytes.NewBuffer(w.b[:0])
	encoder := expfmt.NewEncoder(out, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil { // nothing of it has been written
			w.fault("protobuf", fmt.Errorf("family %s is left out: %w", f.GetName(), err))
		}
	}
	w.b = out.Bytes()
	return w.b
}

// header writes what stands above a family's samples.
func (w *pageWriter) header(name, help, kind, unit string) {
	w.b = append(append(append(w.b, "# HELP "...), name...), ' ')
	w.b = append(appendEscaped(w.b, help, w.om), '\n')
	w.b = append(append(append(w.b, "# TYPE "...), name...), ' ')
	w.b = append(append(w.b, kind...), '\n')
	if unit != "" {
		w.b = append(append(append(w.b, "# UNIT "...), name...), ' ')
		w.b = append(append(w.b, unit...), '\n')
	}
}

// metric writes one series, or the series of one histogram or summary. The metric is one that adopt has passed, or ours.
func (w *pageWriter) metric(name string, kind dto.MetricType, m *dto.Metric) {
	switch kind {
	case dto.MetricType_COUNTER:
		w.sample(name, m, m.Counter.GetValue(), m.Counter.Exemplar)
	case dto.MetricType_GAUGE:
		w.sample(name, m, m.Gauge.GetValue(), nil)
	case dto.MetricType_UNTYPED:
		w.sample(name, m, m.Untyped.GetValue(), nil)
	case dto.MetricType_SUMMARY:
		w.summary(name, m)
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		w.histogram(name, kind, m)
	}
}

func (w *pageWriter) sample(name string, m *dto.Metric, v float64, x *dto.Exemplar) {
	w.b = append(w.b, name...)
	if len(m.Label) > 0 {
		w.b = append(w.labels(m.Label), '}')
	}
	w.value(v)
	w.end(m, x)
}

// labels writes a block of labels without its closing brace; of no labels, nothing.
func (w *pageWriter) labels(labels []*dto.LabelPair) []byte {
	sep := byte('{')
	for _, l := range labels {
		w.b = append(append(append(w.b, sep), l.GetName()...), `="`...)
		w.b = append(appendEscaped(w.b, l.GetValue(), true), '"')
		sep = ','
	}
	return w.b
}

// histogram writes the buckets, the sum and the count. A bucket's line repeats all but the bound of the line above, so that the
// labels are written once and copied.
//
//	name_bucket{a="b",le="0.01"} 3
//	└── line ────────────┘
//	           └─ labels ┘         (with the sep that le needs)
func (w *pageWriter) histogram(name string, kind dto.MetricType, m *dto.Metric) {
	h := m.Histogram
	line := len(w.b)
	w.b = append(append(w.b, name...), "_bucket"...)
	labels := len(w.b)
	w.b = w.labels(m.Label)
	labelsEnd := len(w.b)
	if labels == labelsEnd {
		w.b = append(w.b, `{le="`...)
	} else {
		w.b = append(w.b, `,le="`...)
	}
	lineEnd := len(w.b)

	inf := false
	lower := math.Inf(-1)
	for i, b := range h.Bucket {
		if i > 0 {
			w.b = append(w.b, w.b[line:lineEnd]...)
		}
		bound := b.GetUpperBound()
		inf = inf || math.IsInf(bound, 1)
		w.b = append(append(w.b, w.bound(i, bound)...), `"}`...)
		w.count(b.GetCumulativeCount(), b.GetCumulativeCountFloat())
		x := b.Exemplar
		if v := x.GetValue(); !(v > lower && v <= bound) {
			x = nil
		}
		w.end(m, x)
		lower = bound
	}
	if !inf {
		if len(h.Bucket) > 0 {
			w.b = append(w.b, w.b[line:lineEnd]...)
		}
		w.b = append(w.b, `+Inf"}`...)
		w.count(h.GetSampleCount(), h.GetSampleCountFloat())
		w.end(m, nil)
	}

	sum, count := "_sum", "_count"
	if w.om {
		if !omHasSum(h, kind) {
			return
		}
		if kind == dto.MetricType_GAUGE_HISTOGRAM {
			sum, count = "_gsum", "_gcount"
		}
	}
	w.suffixed(name, sum, labels, labelsEnd)
	w.value(h.GetSampleSum())
	w.end(m, nil)
	w.suffixed(name, count, labels, labelsEnd)
	w.count(h.GetSampleCount(), h.GetSampleCountFloat())
	w.end(m, nil)
}

// suffixed begins a line with labels that are written already.
func (w *pageWriter) suffixed(name, suffix string, labels, labelsEnd int) {
	w.b = append(append(w.b, name...), suffix...)
	if labels < labelsEnd {
		w.b = append(append(w.b, w.b[labels:labelsEnd]...), '}')
	}
}

// summary writes the quantiles, the sum and the count. OpenMetrics has no word for some values; those lines are left out there.
func (w *pageWriter) summary(name string, m *dto.Metric) {
	for _, q := range m.Summary.Quantile {
		if w.om && (!(q.GetQuantile() >= 0 && q.GetQuantile() <= 1) || q.GetValue() < 0) {
			continue
		}
		w.b = append(w.b, name...)
		if len(m.Label) == 0 {
			w.b = append(w.b, `{quantile="`...)
		} else {
			w.b = append(w.labels(m.Label), `,quantile="`...)
		}
		w.b = append(appendFloat(w.b, q.GetQuantile(), w.om), `"}`...)
		w.value(q.GetValue())
		w.end(m, nil)
	}
	if sum := m.Summary.GetSampleSum(); !w.om || sum >= 0 {
		w.b = append(append(w.b, name...), "_sum"...)
		if len(m.Label) > 0 {
			w.b = append(w.labels(m.Label), '}')
		}
		w.value(sum)
		w.end(m, nil)
	}
	w.b = append(append(w.b, name...), "_count"...)
	if len(m.Label) > 0 {
		w.b = append(w.labels(m.Label), '}')
	}
	w.count(m.Summary.GetSampleCount(), 0)
	w.end(m, nil)
}

// bound is a bucket's bound as text; i is its place in its histogram.
func (w *pageWriter) bound(i int, bound float64) []byte {
	if i >= len(w.bounds) {
		w.bounds = append(w.bounds, boundText{bound: math.NaN()})
	}
	t := &w.bounds[i]
	if t.bound != bound || t.om != w.om {
		*t = boundText{bound, w.om, appendFloat(t.text[:0], bound, w.om)}
	}
	return t.text
}

func (w *pageWriter) value(v float64) { w.b = appendFloat(append(w.b, ' '), v, w.om) }

// count writes a number of observations: a whole one, or the other where it isn't 0.
func (w *pageWriter) count(n uint64, float float64) {
	w.b = append(w.b, ' ')
	switch {
	case float > 0:
		w.b = appendFloat(w.b, float, w.om)
	case w.om:
		w.b = strconv.AppendUint(w.b, n, 10)
	default:
		w.b = appendFloat(w.b, float64(n), false)
	}
}

// end writes what stands behind a value: the metric's own timestamp, if it has one, in milliseconds or, in OpenMetrics, in
// seconds, and there an exemplar.
func (w *pageWriter) end(m *dto.Metric, x *dto.Exemplar) {
	if m.TimestampMs != nil {
		w.b = append(w.b, ' ')
		if w.om {
			w.b = appendSeconds(w.b, m.GetTimestampMs(), 3)
		} else {
			w.b = strconv.AppendInt(w.b, m.GetTimestampMs(), 10)
		}
	}
	if w.om && x != nil {
		w.exemplar(x)
	}
	w.b = append(w.b, '\n')
}

// appendFloat writes v in the shortest form that reads back as v. OpenMetrics wants to see that it is no integer.
func appendFloat(b []byte, v float64, om bool) []byte {
	switch {
	case v == 0 || v >= 1 && v < 1e6 && v == math.Trunc(v):
		b = strconv.AppendUint(b, uint64(v), 10)
		if om {
			b = append(b, ".0"...)
		}
		return b
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if om && bytes.IndexByte(b[start:], 'e') < 0 && bytes.IndexByte(b[start:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// appendSeconds writes t, which has so many decimals, exactly.
func appendSeconds(b []byte, t int64, decimals int) []byte {
	if t < 0 {
		b, t = append(b, '-'), -t
	}
	unit := int64(math.Pow10(decimals))
	b = append(strconv.AppendInt(b, t/unit, 10), '.')
	for rest := t % unit; unit > 1; rest %= unit {
		unit /= 10
		b = append(b, '0'+byte(rest/unit))
	}
	return b
}

// appendEscaped writes s for a place between quotes, or for a HELP line, where classic text doesn't escape quotes.
func appendEscaped(b []byte, s string, quotes bool) []byte {
	from := 0
	for i := range len(s) {
		var escape string
		switch s[i] {
		case '\\':
			escape = `\\`
		case '\n':
			escape = `\n`
		case '"':
			if !quotes {
				continue
			}
			escape = `\"`
		default:
			continue
		}
		b = append(append(b, s[from:i]...), escape...)
		from = i + 1
	}
	return append(b, s[from:]...)
}
