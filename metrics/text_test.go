package metrics

import (
	"bytes"
	"math"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"pgregory.net/rapid"
)

// drawFamily draws a family that both text formats can carry whole.
func drawFamily(t *rapid.T) *dto.MetricFamily {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab \\\"\n{}=,#é\u2028")))
	value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 3, 0.5, 999999, 1e6, 1e7, 1e21, 1e-7,
		123456789, math.Inf(1), math.Inf(-1), math.NaN()}))
	kind := rapid.SampledFrom([]dto.MetricType{dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_SUMMARY,
		dto.MetricType_UNTYPED, dto.MetricType_HISTOGRAM}).Draw(t, "type")
	name, help := rapid.StringMatching(`[a-z_:][a-z0-9_:]{0,8}`).Draw(t, "name"), text.Draw(t, "help")
	f := &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
	for i := range rapid.IntRange(1, 3).Draw(t, "series") {
		m := &dto.Metric{}
		for range rapid.IntRange(0, 2).Draw(t, "labels") {
			m.Label = append(m.Label, pair(rapid.StringMatching(`[a-z_][a-z0-9_]{0,4}`).Draw(t, "label"), text.Draw(t, "value")))
		}
		if rapid.IntRange(0, 3).Draw(t, "timed") == 0 && i >= 0 {
			at := rapid.Int64Range(0, 1<<41).Draw(t, "timestamp")
			m.TimestampMs = &at
		}
		v, n := value.Draw(t, "value"), rapid.Uint64Range(0, 1<<53).Draw(t, "count")
		switch kind {
		case dto.MetricType_COUNTER:
			m.Counter = &dto.Counter{Value: &v}
		case dto.MetricType_GAUGE:
			m.Gauge = &dto.Gauge{Value: &v}
		case dto.MetricType_UNTYPED:
			m.Untyped = &dto.Untyped{Value: &v}
		case dto.MetricType_SUMMARY:
			m.Summary = &dto.Summary{SampleCount: &n, SampleSum: &v}
			for range rapid.IntRange(0, 2).Draw(t, "quantiles") {
				q, at := rapid.Float64Range(0, 1).Draw(t, "quantile"), value.Draw(t, "at")
				m.Summary.Quantile = append(m.Summary.Quantile, &dto.Quantile{Quantile: &q, Value: &at})
			}
		case dto.MetricType_HISTOGRAM:
			m.Histogram = &dto.Histogram{SampleCount: &n, SampleSum: &v}
			for range rapid.IntRange(0, 3).Draw(t, "buckets") {
				le, upTo := value.Draw(t, "le"), rapid.Uint64Range(0, 1<<53).Draw(t, "up to")
				m.Histogram.Bucket = append(m.Histogram.Bucket, &dto.Bucket{UpperBound: &le, CumulativeCount: &upTo})
			}
		}
		f.Metric = append(f.Metric, m)
	}
	return f
}

// Classic text is, byte for byte, what the library writes.
func TestClassicIsWhatTheLibraryWrites(t *testing.T) {
	var w pageWriter
	rapid.Check(t, func(t *rapid.T) {
		f := drawFamily(t)
		var want bytes.Buffer
		if _, err := expfmt.MetricFamilyToText(&want, f); err != nil {
			t.Fatal(err)
		}
		if got := w.classic([]*dto.MetricFamily{f}); string(got) != want.String() {
			t.Fatalf("got\n%s\nwant\n%s", got, want.String())
		}
	})
}

// Our own page in OpenMetrics is what the library writes, units and the decimals of an exemplar's time aside.
func TestOpenMetricsIsWhatTheLibraryWrites(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToOpenMetrics(&want, f); err != nil {
			t.Fatal(err)
		}
	}
	expfmt.FinalizeOpenMetrics(&want)
	w := pageWriter{fault: noFault(t)}
	var got strings.Builder
	units := 0
	for line := range strings.Lines(string(w.openMetrics(families))) {
		if strings.HasPrefix(line, "# UNIT ") {
			units++
			continue
		}
		got.WriteString(line)
	}
	if got.String() != want.String() {
		t.Fatalf("got\n%s\nwant\n%s", got.String(), want.String())
	}
	if units == 0 {
		t.Error("no family has a unit")
	}
}

func noFault(t testing.TB) func(string, error) {
	return func(where string, err error) { t.Errorf("%s: %v", where, err) }
}

func TestAppendSeconds(t *testing.T) {
	for _, row := range []struct {
		t        int64
		decimals int
		want     string
	}{{0, 3, "0.000"}, {1, 3, "0.001"}, {-1, 3, "-0.001"}, {1700000000250, 3, "1700000000.250"}, {1700000000123456, 6, "1700000000.123456"},
		{-1500, 3, "-1.500"}} {
		if got := string(appendSeconds(nil, row.t, row.decimals)); got != row.want {
			t.Errorf("%d with %d decimals is %s, want %s", row.t, row.decimals, got, row.want)
		}
	}
}

// What the library drops or refuses, or what a strict reader would.
func TestOpenMetricsTakesWhatItCan(t *testing.T) {
	kind := func(k dto.MetricType) *dto.MetricType { return &k }
	text := func(s string) *string { return &s }
	float := func(v float64) *float64 { return &v }
	count := func(n uint64) *uint64 { return &n }
	x := &dto.Exemplar{Label: []*dto.LabelPair{pair("trace_id", "ab")}, Value: float(0.5)}
	stamp := made(&x.Timestamp)
	stamp.Seconds, stamp.Nanos = 7, 123456789
	counted := func(v float64, x *dto.Exemplar) []*dto.Metric {
		return []*dto.Metric{{Counter: &dto.Counter{Value: &v, Exemplar: x}}}
	}
	gauged := func(v float64) []*dto.Metric { return []*dto.Metric{{Gauge: &dto.Gauge{Value: &v}}} }
	bucket := func(le float64, n uint64, x *dto.Exemplar) *dto.Bucket {
		return &dto.Bucket{UpperBound: &le, CumulativeCount: &n, Exemplar: x}
	}
	long := &dto.Exemplar{Label: []*dto.LabelPair{pair("trace_id", strings.Repeat("é", 121))}, Value: float(0.5)}
	rows := []struct {
		name     string
		families []*dto.MetricFamily
		want     string // without HELP and EOF
		faults   int
	}{
		{"a counter", []*dto.MetricFamily{{Name: text("a_total"), Type: kind(dto.MetricType_COUNTER), Metric: counted(3, x)}},
			"# TYPE a counter\na_total 3.0 # {trace_id=\"ab\"} 0.5 7.123456\n", 0},
		{"a counter without its suffix", []*dto.MetricFamily{{Name: text("a"), Type: kind(dto.MetricType_COUNTER), Metric: counted(3, x)}},
			"# TYPE a unknown\na 3.0\n", 0},
		{"a counter that isn't one", []*dto.MetricFamily{{Name: text("a_total"), Type: kind(dto.MetricType_COUNTER), Metric: counted(math.NaN(), x)}},
			"# TYPE a_total unknown\na_total NaN\n", 0},
		{"a gauge and a counter of one name", []*dto.MetricFamily{
			{Name: text("a_bytes"), Type: kind(dto.MetricType_GAUGE), Metric: gauged(1)},
			{Name: text("a_bytes_total"), Type: kind(dto.MetricType_COUNTER), Metric: counted(2, nil)}},
			"# TYPE a_bytes gauge\n# UNIT a_bytes bytes\na_bytes 1.0\n# TYPE a_bytes_total unknown\na_bytes_total 2.0\n", 0},
		{"a gauge with the name of a counter's sample", []*dto.MetricFamily{
			{Name: text("a_total"), Type: kind(dto.MetricType_COUNTER), Metric: counted(2, nil)},
			{Name: text("a_created"), Type: kind(dto.MetricType_GAUGE), Metric: gauged(1)}},
			"# TYPE a counter\na_total 2.0\n", 1},
		{"a unit that isn't in the name", []*dto.MetricFamily{{Name: text("a"), Unit: text("bytes"), Type: kind(dto.MetricType_GAUGE), Metric: gauged(1)}},
			"# TYPE a gauge\na 1.0\n", 0},
		{"a unit of the maker's", []*dto.MetricFamily{{Name: text("a_parsecs"), Unit: text("parsecs"), Type: kind(dto.MetricType_GAUGE), Metric: gauged(1)}},
			"# TYPE a_parsecs gauge\n# UNIT a_parsecs parsecs\na_parsecs 1.0\n", 0},
		{"a histogram whose exemplars are in and out of their buckets, and too long", []*dto.MetricFamily{{Name: text("h"), Type: kind(dto.MetricType_HISTOGRAM),
			Metric: []*dto.Metric{{Histogram: &dto.Histogram{SampleCount: count(4), SampleSum: float(2), Bucket: []*dto.Bucket{
				bucket(0.4, 1, x), bucket(0.5, 2, x), bucket(1, 3, x), bucket(math.Inf(1), 4, long)}}}}}},
			"# TYPE h histogram\nh_bucket{le=\"0.4\"} 1\nh_bucket{le=\"0.5\"} 2 # {trace_id=\"ab\"} 0.5 7.123456\nh_bucket{le=\"1.0\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 2.0\nh_count 4\n", 0},
		{"a histogram of negative bounds", []*dto.MetricFamily{{Name: text("h"), Type: kind(dto.MetricType_HISTOGRAM),
			Metric: []*dto.Metric{{Histogram: &dto.Histogram{SampleCount: count(1), SampleSum: float(-2), Bucket: []*dto.Bucket{bucket(-1, 1, nil)}}}}}},
			"# TYPE h histogram\nh_bucket{le=\"-1.0\"} 1\nh_bucket{le=\"+Inf\"} 1\n", 0},
		{"a gauge histogram", []*dto.MetricFamily{{Name: text("h"), Type: kind(dto.MetricType_GAUGE_HISTOGRAM),
			Metric: []*dto.Metric{{Histogram: &dto.Histogram{SampleCount: count(1), SampleSum: float(2), Bucket: []*dto.Bucket{bucket(3, 1, nil)}}}}}},
			"# TYPE h gaugehistogram\nh_bucket{le=\"3.0\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_gsum 2.0\nh_gcount 1\n", 0},
		{"a histogram that shrinks", []*dto.MetricFamily{{Name: text("h"), Type: kind(dto.MetricType_HISTOGRAM),
			Metric: []*dto.Metric{{Histogram: &dto.Histogram{SampleCount: count(1), SampleSum: float(2), Bucket: []*dto.Bucket{bucket(3, 2, nil)}}}}}}, "", 1},
		{"a histogram of fractions", []*dto.MetricFamily{{Name: text("h"), Type: kind(dto.MetricType_HISTOGRAM),
			Metric: []*dto.Metric{{Histogram: &dto.Histogram{SampleCountFloat: float(1.5), SampleSum: float(2)}}}}}, "", 1},
		{"a summary", []*dto.MetricFamily{{Name: text("s"), Type: kind(dto.MetricType_SUMMARY),
			Metric: []*dto.Metric{{TimestampMs: new(int64(1500)), Summary: &dto.Summary{SampleCount: count(2), SampleSum: float(math.NaN()), Quantile: []*dto.Quantile{
				{Quantile: float(0.5), Value: float(math.NaN())}, {Quantile: float(1), Value: float(-1)}, {Quantile: float(3), Value: float(1)}}}}}}},
			"# TYPE s summary\ns{quantile=\"0.5\"} NaN 1.500\ns_count 2 1.500\n", 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			faults := 0
			w := pageWriter{fault: func(string, error) { faults++ }}
			var got strings.Builder
			for line := range strings.Lines(string(w.openMetrics(row.families))) {
				if !strings.HasPrefix(line, "# HELP ") && line != "# EOF\n" {
					got.WriteString(line)
				}
			}
			if got.String() != row.want || faults != row.faults {
				t.Errorf("%d faults, got\n%s\nwant %d and\n%s", faults, got.String(), row.faults, row.want)
			}
		})
	}
}
