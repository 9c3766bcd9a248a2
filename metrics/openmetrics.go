package metrics

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// openMetrics writes OpenMetrics text. A strict reader refuses a whole page for one line that breaks the rules, so a family of the
// caller's is written as what it can be: with the type unknown where it isn't what its type promises, or not at all.
func (w *pageWriter) openMetrics(families []*dto.MetricFamily) []byte {
	w.b, w.om = w.b[:0], true
	w.names.reset()
	for _, f := range families {
		w.omFamily(f)
	}
	w.b = append(w.b, "# EOF\n"...)
	return w.b
}

func (w *pageWriter) omFamily(f *dto.MetricFamily) {
	if err := omFits(f); err != nil {
		w.fault("openmetrics", fmt.Errorf("family %s is left out: %w", f.GetName(), err))
		return
	}
	name, sample, kind := f.GetName(), f.GetName(), f.GetType()
	if kind == dto.MetricType_COUNTER {
		var ok bool
		if name, ok = strings.CutSuffix(sample, "_total"); !ok || name == "" || !omCounts(f) || !w.names.free(name, kind) {
			name, kind = sample, dto.MetricType_UNTYPED
		}
	}
	if !w.names.take(name, kind) {
		w.fault("openmetrics", fmt.Errorf("family %s is left out: a family above it has samples of its name", sample))
		return
	}
	w.header(name, f.GetHelp(), omTypes[kind], omUnit(name, f.GetUnit()))
	for _, m := range f.Metric {
		if f.GetType() == dto.MetricType_COUNTER && kind == dto.MetricType_UNTYPED {
			w.sample(sample, m, m.Counter.GetValue(), nil) // only counters may have exemplars
			continue
		}
		w.metric(sample, kind, m)
	}
}

var omTypes = [...]string{
	dto.MetricType_COUNTER:         "counter",
	dto.MetricType_GAUGE:           "gauge",
	dto.MetricType_SUMMARY:         "summary",
	dto.MetricType_UNTYPED:         "unknown",
	dto.MetricType_HISTOGRAM:       "histogram",
	dto.MetricType_GAUGE_HISTOGRAM: "gaugehistogram",
}

// omSuffixes are what a type adds to a family's name, beside nothing. _created is among them though no page has such a sample.
var omSuffixes = [...][]string{
	dto.MetricType_COUNTER:         {"_total", "_created"},
	dto.MetricType_GAUGE:           nil,
	dto.MetricType_SUMMARY:         {"_count", "_sum", "_created"},
	dto.MetricType_UNTYPED:         nil,
	dto.MetricType_HISTOGRAM:       {"_count", "_sum", "_bucket", "_created"},
	dto.MetricType_GAUGE_HISTOGRAM: {"_gcount", "_gsum", "_bucket"},
}

// omNames are the names on a page. The gauge a and the counter a_total, which client_golang's own Go collector has
// (go_memstats_alloc_bytes), are two families of the name a in OpenMetrics.
type omNames struct {
	taken map[string]bool
	names map[omName][]string // made once: the names of a family
}

type omName struct {
	family string
	kind   dto.MetricType
}

func (n *omNames) reset() {
	const most = 4096 // a caller whose names change must not fill the memory
	if n.taken == nil || len(n.names) > most {
		n.taken, n.names = map[string]bool{}, map[omName][]string{}
	}
	clear(n.taken)
}

// of returns all names of a family.
func (n *omNames) of(family string, kind dto.MetricType) []string {
	key := omName{family, kind}
	names := n.names[key]
	if names == nil {
		names = append(names, family)
		for _, suffix := range omSuffixes[kind] {
			names = append(names, family+suffix)
		}
		n.names[key] = names
	}
	return names
}

// free says whether a family's names are free.
func (n *omNames) free(family string, kind dto.MetricType) bool {
	for _, name := range n.of(family, kind) {
		if n.taken[name] {
			return false
		}
	}
	return true
}

// take takes a family's names, if they are free.
func (n *omNames) take(family string, kind dto.MetricType) bool {
	if !n.free(family, kind) {
		return false
	}
	for _, name := range n.of(family, kind) {
		n.taken[name] = true
	}
	return true
}

// units are the units that names end in. Tokens and requests are things that are counted, and no units.
var units = []string{"seconds", "bytes", "joules", "watts", "hertz", "celsius", "volts", "amperes", "meters", "grams"}

// omUnit is the unit of a family, given by its maker or by its name. It must be the name's end.
func omUnit(name, given string) string {
	if given != "" {
		if strings.HasSuffix(name, "_"+given) {
			return given
		}
		return ""
	}
	_, last, ok := cutLast(name, '_')
	for _, unit := range units {
		if ok && last == unit {
			return unit
		}
	}
	return ""
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// omCounts says whether the values are those of a counter.
func omCounts(f *dto.MetricFamily) bool {
	for _, m := range f.Metric {
		if !(m.Counter.GetValue() >= 0) {
			return false
		}
	}
	return true
}

// omFits says why a family can't be written in OpenMetrics, which has whole counts in ascending buckets only; nil: it can.
func omFits(f *dto.MetricFamily) error {
	for _, m := range f.Metric {
		h := m.Histogram
		if h == nil {
			continue
		}
		lower, below := math.Inf(-1), uint64(0)
		for _, b := range h.Bucket {
			if b.CumulativeCountFloat != nil {
				return fmt.Errorf("a bucket counts in fractions")
			}
			if !(b.GetUpperBound() > lower) || b.GetCumulativeCount() < below {
				return fmt.Errorf("bucket %v is not above its predecessor", b.GetUpperBound())
			}
			lower, below = b.GetUpperBound(), b.GetCumulativeCount()
		}
		if h.SampleCountFloat != nil || below > h.GetSampleCount() || math.IsInf(lower, 1) && below != h.GetSampleCount() {
			return fmt.Errorf("its buckets hold %d observations, the whole %v", below, h.GetSampleCount())
		}
	}
	return nil
}

// omHasSum says whether a histogram may have a sum: it must be a number, one that only grows where the type counts, and there are
// none beside bounds below 0, where observations could take away from it.
func omHasSum(h *dto.Histogram, kind dto.MetricType) bool {
	sum := h.GetSampleSum()
	if math.IsNaN(sum) {
		return false
	}
	negative := len(h.Bucket) > 0 && h.Bucket[0].GetUpperBound() < 0
	if kind == dto.MetricType_GAUGE_HISTOGRAM {
		return sum >= 0 || negative
	}
	return sum >= 0 && !negative
}

// maxExemplarRunes is the most that an exemplar's labels may have, names and values together.
const maxExemplarRunes = 128

// exemplar writes x, unless its labels break the rules.
func (w *pageWriter) exemplar(x *dto.Exemplar) {
	runes := 0
	for i, l := range x.Label {
		if !legalName(l.GetName(), false) || !utf8.ValidString(l.GetValue()) || hasLabel(x.Label[:i], l.GetName()) {
			return
		}
		if strings.ContainsAny(l.GetValue(), "{}") { // legal, but there are readers that find the labels' end by a brace
			return
		}
		runes += len(l.GetName()) + utf8.RuneCountInString(l.GetValue())
	}
	if len(x.Label) == 0 || runes > maxExemplarRunes || math.IsNaN(x.GetValue()) {
		return
	}
	w.b = append(w.b, " # "...)
	w.b = append(w.labels(x.Label), '}')
	w.value(x.GetValue())
	if t := x.Timestamp; t != nil {
		w.b = appendSeconds(append(w.b, ' '), t.GetSeconds()*1e6+int64(t.GetNanos())/1e3, 6)
	}
}
