package metrics

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// adopt makes a family of the caller's fit for the page: names of the old kind (others become underscores, as for a scraper that
// asks for nothing else), text in UTF-8, each series once. It returns f itself where nothing had to be changed, and never changes
// f, which is the caller's. A family that can't be mended is an error; one without series is nil. A registry has checked that each
// series is there once.
func adopt(f *dto.MetricFamily, checked bool) (*dto.MetricFamily, error) {
	if f == nil || len(f.Metric) == 0 {
		return nil, nil
	}
	if f.GetName() == "" {
		return nil, errors.New("a family has no name")
	}
	kind := int(f.GetType())
	if kind < 0 || kind >= len(classicTypes) {
		return nil, fmt.Errorf("family %s has the unknown type %d", f.GetName(), kind)
	}
	out := f
	own := func() *dto.MetricFamily { // a copy that may be changed
		if out == f {
			out = &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit, Metric: append([]*dto.Metric(nil), f.Metric...)}
		}
		return out
	}
	if name := f.GetName(); !legalName(name, true) {
		name = makeLegal(name, true)
		own().Name = &name
	}
	if help := f.GetHelp(); !utf8.ValidString(help) {
		help = strings.ToValidUTF8(help, "\ufffd")
		own().Help = &help
	}
	for i, m := range f.Metric {
		if err := check(f.GetType(), m); err != nil {
			return nil, fmt.Errorf("family %s: %w", f.GetName(), err)
		}
		if labels := adoptLabels(m.Label); labels != nil {
			own().Metric[i] = &dto.Metric{Label: labels, Gauge: m.Gauge, Counter: m.Counter, Summary: m.Summary, Untyped: m.Untyped,
				Histogram: m.Histogram, TimestampMs: m.TimestampMs}
		}
	}
	if checked && out == f {
		return f, nil
	}
	if err := checkSeries(out); err != nil {
		return nil, fmt.Errorf("family %s: %w", f.GetName(), err)
	}
	return out, nil
}

// check says whether the metric has a value of its family's type.
func check(kind dto.MetricType, m *dto.Metric) error {
	there := false
	if m != nil {
		switch kind {
		case dto.MetricType_COUNTER:
			there = m.Counter != nil
		case dto.MetricType_GAUGE:
			there = m.Gauge != nil
		case dto.MetricType_SUMMARY:
			there = m.Summary != nil
		case dto.MetricType_UNTYPED:
			there = m.Untyped != nil
		default:
			there = m.Histogram != nil
		}
	}
	if !there {
		return errors.New("a metric has no value of the family's type")
	}
	return nil
}

// adoptLabels returns labels with legal names and text, or nil where they are so already.
func adoptLabels(labels []*dto.LabelPair) []*dto.LabelPair {
	var out []*dto.LabelPair
	for i, l := range labels {
		name, value := l.GetName(), l.GetValue()
		if legalName(name, false) && utf8.ValidString(value) {
			continue
		}
		if out == nil {
			out = append(out, labels...)
		}
		out[i] = pair(makeLegal(name, false), strings.ToValidUTF8(value, "\ufffd"))
	}
	return out
}

// checkSeries says whether every label of a series, and every series, is there once.
func checkSeries(f *dto.MetricFamily) error {
	reserved := ""
	switch f.GetType() {
	case dto.MetricType_SUMMARY:
		reserved = "quantile"
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		reserved = "le"
	}
	seen := make(map[string]bool, len(f.Metric))
	var key []byte
	for _, m := range f.Metric {
		for i, l := range m.Label {
			if l.GetName() == reserved || l.GetName() == "__name__" || hasLabel(m.Label[:i], l.GetName()) {
				return fmt.Errorf("a series has the label %s twice, or has no right to it", l.GetName())
			}
		}
		if q, twice := twiceQuantile(m.Summary); twice {
			return fmt.Errorf("a series has the quantile %v twice", q)
		}
		key = appendSeries(key[:0], m.Label)
		if seen[string(key)] {
			return errors.New("a series is there twice")
		}
		seen[string(key)] = true
	}
	return nil
}

// twiceQuantile finds a quantile of a summary (nil has none) that is there twice: its samples would be one series.
func twiceQuantile(s *dto.Summary) (float64, bool) {
	for i, q := range s.GetQuantile() {
		for _, before := range s.GetQuantile()[:i] { // a handful
			if a, b := before.GetQuantile(), q.GetQuantile(); a == b || a != a && b != b {
				return b, true
			}
		}
	}
	return 0, false
}

// claimNames takes the names of a family's samples, unless one of them is taken.
func claimNames(taken map[string]bool, f *dto.MetricFamily) bool {
	name := f.GetName()
	names := [...]string{name, name, name, name}
	switch f.GetType() {
	case dto.MetricType_SUMMARY:
		names = [...]string{name, name + "_sum", name + "_count", name}
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		names = [...]string{name, name + "_sum", name + "_count", name + "_bucket"}
	}
	for _, n := range names {
		if taken[n] {
			return false
		}
	}
	for _, n := range names {
		taken[n] = true
	}
	return true
}

// appendSeries writes labels, which are each there once, in the order of their names, apart by bytes that UTF-8 hasn't.
func appendSeries(key []byte, labels []*dto.LabelPair) []byte {
	last := ""
	for range labels {
		var next *dto.LabelPair
		for _, l := range labels { // a handful
			if l.GetName() > last && (next == nil || l.GetName() < next.GetName()) {
				next = l
			}
		}
		last = next.GetName()
		key = append(append(append(append(key, last...), 0xff), next.GetValue()...), 0xff)
	}
	return key
}

func hasLabel(labels []*dto.LabelPair, name string) bool {
	for _, l := range labels {
		if l.GetName() == name {
			return true
		}
	}
	return false
}

// legalName says whether a name is of letters, digits and underscores, with no digit in front; a family's may have colons.
func legalName(name string, colons bool) bool {
	for i := range len(name) {
		if !legalByte(name[i], i, colons) {
			return false
		}
	}
	return name != ""
}

func legalByte(c byte, i int, colons bool) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9' && i > 0 || c == ':' && colons
}

// makeLegal makes each character that a name may not have an underscore.
func makeLegal(name string, colons bool) string {
	var b strings.Builder
	for i, c := range name {
		if c < utf8.RuneSelf && legalByte(byte(c), i, colons) {
			b.WriteByte(byte(c))
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// withoutSummary turns a family of summaries into one of histograms that have no bounds: a quantile of one process adds up with
// nothing, and there are scrapers that skip summaries whole.
func withoutSummary(f *dto.MetricFamily) *dto.MetricFamily {
	if f.GetType() != dto.MetricType_SUMMARY {
		return f
	}
	help := f.GetHelp()
	if rest, ok := strings.CutPrefix(help, "A summary of the "); ok && rest != "" {
		help = strings.ToUpper(rest[:1]) + rest[1:]
	}
	kind := dto.MetricType_HISTOGRAM
	out := &dto.MetricFamily{Name: f.Name, Help: &help, Type: &kind, Unit: f.Unit}
	for _, m := range f.Metric {
		out.Metric = append(out.Metric, &dto.Metric{Label: m.Label, TimestampMs: m.TimestampMs,
			Histogram: &dto.Histogram{SampleCount: m.Summary.SampleCount, SampleSum: m.Summary.SampleSum}})
	}
	return out
}
