package metrics

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"
)

// drawLatency draws from all powers of 2, the bounds between them, and 0.
func drawLatency(t *rapid.T) time.Duration {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "wide") >> rapid.IntRange(0, 62).Draw(t, "shift"))
		}),
		rapid.Custom(func(t *rapid.T) time.Duration { // near a bound
			seconds := math.Exp2(float64(rapid.IntRange(-239, 260).Draw(t, "bound")) / 8)
			return max(0, time.Duration(seconds*1e9)+time.Duration(rapid.IntRange(-2, 2).Draw(t, "off")))
		}),
		rapid.Just(time.Duration(0)),
	).Draw(t, "latency")
}

// Our native histograms are the library's, fed with the same observations: schema, spans, deltas, zero bucket, sum.
func TestNativeHistogramIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newTestRecorder(RecorderOptions{NativeHistograms: true})
		m := mustOpen(t, r, "m", nil, Chat)
		theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Buckets: []float64{1}, NativeHistogramBucketFactor: 1.1})
		for range rapid.IntRange(0, 40).Draw(rt, "observations") {
			d := drawLatency(rt)
			m.Finish(&Record{Operation: Chat, Fail: QueueFull, Arrival: 0, Finished: d})
			if d == 0 {
				d = r.Now() // a record that has no end is finished now
			}
			theirs.Observe(float64(d) / 1e9)
			if rapid.IntRange(0, 9).Draw(rt, "scrape") == 0 {
				r.Gather()
			}
		}
		var want dto.Metric
		if err := theirs.Write(&want); err != nil {
			rt.Fatal(err)
		}
		if want.Histogram.GetSampleCount() == 0 {
			return // no series yet
		}
		got := histogramOf(t, r, durations, func(m *dto.Metric) bool { return !succeeded(m) })
		sameNative(rt, got, want.Histogram)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func sameNative(t fataler, got, want *dto.Histogram) {
	if got.GetSchema() != want.GetSchema() || got.GetZeroThreshold() != want.GetZeroThreshold() || got.GetZeroCount() != want.GetZeroCount() ||
		got.GetSampleCount() != want.GetSampleCount() {
		t.Fatalf("got %v\nwant %v", got, want)
	}
	if d := math.Abs(got.GetSampleSum() - want.GetSampleSum()); d > 1e-12*want.GetSampleSum() {
		t.Fatalf("sum %v, want %v", got.GetSampleSum(), want.GetSampleSum())
	}
	if !slices.Equal(got.PositiveDelta, want.PositiveDelta) || !slices.EqualFunc(got.PositiveSpan, want.PositiveSpan, func(a, b *dto.BucketSpan) bool {
		return a.GetOffset() == b.GetOffset() && a.GetLength() == b.GetLength()
	}) {
		t.Fatalf("got  %v %v\nwant %v %v", got.PositiveSpan, got.PositiveDelta, want.PositiveSpan, want.PositiveDelta)
	}
}

// The bucket of zero, the first and the last one, and the powers of 2, which belong to the bucket below them.
func TestNativeCells(t *testing.T) {
	for v, want := range map[uint64]int{0: 0, 1: 1, math.MaxInt64: nativeCells - 1, math.MaxUint64: nativeCells - 1,
		1e9: 1 - nativeLowest, 5e8: 1 - nativeLowest - 8, 2e9: 1 - nativeLowest + 8, 1e9 + 1: 2 - nativeLowest} {
		if got := nativeCell(v); got != want {
			t.Errorf("%d ns are in cell %d, want %d", v, got, want)
		}
	}
}

func TestNativeHistogramsAreOffUnlessAskedFor(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	m.Finish(traced(1, 30*ms))
	if h := histogramOf(t, r, durations, succeeded); h.Schema != nil || h.PositiveSpan != nil || h.ZeroThreshold != nil {
		t.Errorf("%v", h)
	}
	r = newTestRecorder(RecorderOptions{NativeHistograms: true})
	mustOpen(t, r, "m", nil, Chat)
	if h := histogramOf(t, r, durations, succeeded); h.GetSchema() != nativeSchema || h.GetZeroThreshold() == 0 || len(h.Bucket) != 14 {
		t.Errorf("an empty one must be native and classic: %v", h)
	}
}
