package metrics

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"
)

func sorted(s []string) []string { slices.Sort(s); return s }

func contains(s []string, v string) bool { return slices.Contains(s, v) }

// drawAnyFamily draws what a caller's gatherer could hand over at its worst.
func drawAnyFamily(t *rapid.T) *dto.MetricFamily {
	text := rapid.OneOf(rapid.StringMatching(`[a-c]{0,2}`), rapid.SampledFrom([]string{"\xff\xfe", "a\nb", `"\`, "é", "x } # {y=\"z\"} 1", strings.Repeat("w", 200)}))
	name := rapid.OneOf(rapid.StringMatching(`[a-c](_bytes|_seconds)?(_total|_created|_count|_sum|_bucket)?`),
		rapid.SampledFrom([]string{"", "a.b", "1a", "é", "a\xff", "_total", "paddock_prompt_tokens", "paddock_prompt_tokens_total", "paddock_build_info",
			"gen_ai_server_request_duration_seconds_count", "gen_ai_server_request_duration_seconds_created"}))
	label := rapid.OneOf(rapid.StringMatching(`[x-z]`), rapid.SampledFrom([]string{"", "le", "quantile", "a.b", "0", "\xff", "__name__"}))
	value := rapid.SampledFrom([]float64{0, 1, 2.5, -1, 1e9, math.NaN(), math.Inf(1), math.Inf(-1)})
	count := rapid.Uint64Range(0, 3)
	labels := func(most int) (pairs []*dto.LabelPair) {
		for range rapid.IntRange(0, most).Draw(t, "labels") {
			pairs = append(pairs, pair(label.Draw(t, "label"), text.Draw(t, "value")))
		}
		return pairs
	}
	exemplar := func() *dto.Exemplar {
		if rapid.Bool().Draw(t, "traced") {
			return nil
		}
		v := value.Draw(t, "exemplar")
		return &dto.Exemplar{Label: labels(2), Value: &v}
	}
	n, help, kind := name.Draw(t, "name"), text.Draw(t, "help"), dto.MetricType(rapid.IntRange(-1, 6).Draw(t, "type"))
	f := &dto.MetricFamily{Name: &n, Help: &help, Type: &kind}
	if rapid.Bool().Draw(t, "has unit") {
		unit := rapid.SampledFrom([]string{"", "bytes", "seconds", "a\n"}).Draw(t, "unit")
		f.Unit = &unit
	}
	for range rapid.IntRange(0, 3).Draw(t, "metrics") {
		m := &dto.Metric{Label: labels(2)}
		v, c := value.Draw(t, "v"), count.Draw(t, "c")
		has := kind
		if rapid.IntRange(0, 9).Draw(t, "confused") == 0 {
			has = dto.MetricType(rapid.IntRange(0, 5).Draw(t, "has"))
		}
		if rapid.IntRange(0, 4).Draw(t, "timed") == 0 {
			m.TimestampMs = new(rapid.Int64Range(-5, 5).Draw(t, "stamp"))
		}
		switch has {
		case dto.MetricType_COUNTER:
			m.Counter = &dto.Counter{Value: &v, Exemplar: exemplar()}
		case dto.MetricType_GAUGE:
			m.Gauge = &dto.Gauge{Value: &v}
		case dto.MetricType_UNTYPED:
			m.Untyped = &dto.Untyped{Value: &v}
		case dto.MetricType_SUMMARY:
			m.Summary = &dto.Summary{SampleCount: &c, SampleSum: &v}
			for range rapid.IntRange(0, 2).Draw(t, "quantiles") {
				m.Summary.Quantile = append(m.Summary.Quantile, &dto.Quantile{Quantile: new(value.Draw(t, "quantile")), Value: new(value.Draw(t, "at"))})
			}
		default:
			m.Histogram = &dto.Histogram{SampleCount: &c, SampleSum: &v}
			if rapid.IntRange(0, 9).Draw(t, "fraction") == 0 {
				m.Histogram.SampleCountFloat = new(1.5)
			}
			upTo := uint64(0)
			bounds := []float64{-1, 0, 0.5, 1, 2.5, math.Inf(1)}
			for _, le := range bounds[rapid.IntRange(0, len(bounds)).Draw(t, "first bound"):] {
				upTo += count.Draw(t, "in bucket") / 2
				m.Histogram.Bucket = append(m.Histogram.Bucket, &dto.Bucket{UpperBound: new(le), CumulativeCount: new(upTo), Exemplar: exemplar()})
			}
			if rapid.IntRange(0, 2).Draw(t, "true count") > 0 {
				m.Histogram.SampleCount = new(max(upTo, c))
				if len(m.Histogram.Bucket) > 0 {
					m.Histogram.SampleCount = new(upTo)
				}
			}
		}
		f.Metric = append(f.Metric, m)
	}
	return f
}

// Whatever a caller's gatherer hands over: all three pages stay valid, ours keep every sample, and what the caller gave is unchanged.
func TestPagesStayValidWithAnyFamilies(t *testing.T) {
	r, m := busyRecorder(t, RecorderOptions{NativeHistograms: true})
	m.Finish(traced(1, 30*ms))
	plain := HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff})
	ours := parse(t, string(fetch(t, plain, "*/*")))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	rapid.Check(t, func(rt *rapid.T) {
		var families []*dto.MetricFamily
		var before []string
		for range rapid.IntRange(0, 4).Draw(rt, "families") {
			f := drawAnyFamily(rt)
			families, before = append(families, f), append(before, f.String())
		}
		h := HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff, Gatherers: []prometheus.Gatherer{
			prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return append(families, nil), errors.New("half of it") })}})
		om := string(fetch(t, h, "application/openmetrics-text;version=1.0.0"))
		if err := checkOpenMetrics(om); err != nil {
			rt.Fatalf("%v\n%s", err, om[strings.Index(om, "# EOF")-min(2000, strings.Index(om, "# EOF")):])
		}
		classic := fetch(t, h, "*/*")
		if _, err := parser.TextToMetricFamilies(bytes.NewReader(classic)); err != nil {
			rt.Fatalf("classic: %v", err)
		}
		decode(t, fetch(t, h, delimited))
		for name, page := range map[string]series{"classic": lenient(string(classic)), "OpenMetrics": lenientOM(t, om)} {
			for sample, v := range ours {
				if got, ok := page[sample]; !ok || got != v {
					rt.Fatalf("%s: %s is %v, %v; want %v", name, sample, got, ok, v)
				}
			}
		}
		for i := range families {
			if families[i].String() != before[i] {
				rt.Fatalf("the caller's family was changed from %v to %v", before[i], families[i])
			}
		}
	})
}

// TestTwiceQuantile: a caller's summary with a quantile twice, which would be one
// series twice, is left out; the rest of the page is there.
func TestTwiceQuantile(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	for _, c := range []struct {
		quantiles []float64
		there     bool
	}{{[]float64{0.5, 1}, true}, {[]float64{1, 0.5, 1}, false}, {[]float64{math.NaN(), math.NaN()}, false}, {[]float64{0, math.Copysign(0, -1)}, false}} {
		m := &dto.Metric{Summary: &dto.Summary{SampleCount: new(uint64(3)), SampleSum: new(1.0)}}
		for _, q := range c.quantiles {
			m.Summary.Quantile = append(m.Summary.Quantile, &dto.Quantile{Quantile: new(q), Value: new(2.0)})
		}
		f := &dto.MetricFamily{Name: new("theirs"), Type: dto.MetricType_SUMMARY.Enum(), Metric: []*dto.Metric{m}}
		h := HandlerFor(HandlerOptions{Recorder: r, Auth: AuthOff, Gatherers: []prometheus.Gatherer{
			prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return []*dto.MetricFamily{f}, nil })}})
		for _, accept := range []string{"*/*", "application/openmetrics-text;version=1.0.0"} {
			page := string(fetch(t, h, accept))
			if got := strings.Contains(page, "theirs_count"); got != c.there || !strings.Contains(page, "paddock_num_requests_running") {
				t.Errorf("%s: quantiles %v: the family is there: %v, want %v", accept, c.quantiles, got, c.there)
			}
		}
	}
}

// lenient is parse for pages whose families aren't ours alone.
func lenient(page string) series {
	s := series{}
	for line := range strings.Lines(page) {
		if i := strings.LastIndexByte(line, ' '); line[0] != '#' && i > 0 {
			var v float64
			if v = number(strings.TrimSpace(line[i+1:])); !math.IsNaN(v) {
				if _, ok := s[line[:i]]; !ok {
					s[line[:i]] = v
				}
			}
		}
	}
	return s
}

func lenientOM(t testing.TB, page string) series {
	var own strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "gen_ai_") || strings.HasPrefix(line, "paddock_") || strings.HasPrefix(line, "http_") ||
			strings.HasPrefix(line, "target_info") || strings.HasPrefix(line, "process_start") {
			own.WriteString(line)
		}
	}
	return parseOM(t, own.String())
}
