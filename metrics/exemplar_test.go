package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"
)

// traced is a request of the trace id, whose first token took d, the next one d, and the whole 2·d.
func traced(id uint64, d time.Duration) *Record {
	rec := &Record{Operation: Chat, Finish: Stop, Arrival: time.Second, Queued: time.Second, Scheduled: time.Second}
	binary.BigEndian.PutUint64(rec.TraceID[8:], id)
	binary.BigEndian.PutUint64(rec.SpanID[:], id+1)
	rec.Open(1)
	rec.Token(0, rec.Arrival+d, 1)
	rec.Token(0, rec.Arrival+2*d, 1)
	rec.Finished = rec.Last
	return rec
}

func traceText(id uint64) string { return fmt.Sprintf("%032x", id) }

const (
	durations   = "gen_ai_server_request_duration_seconds"
	firstTokens = "gen_ai_server_time_to_first_token_seconds"
	perTokens   = "gen_ai_server_time_per_output_token_seconds"
)

// shown are the trace ids on a histogram, by the bound of their bucket.
func shown(t testing.TB, h *dto.Histogram) map[float64]string {
	t.Helper()
	out := map[float64]string{}
	lower, below := math.Inf(-1), uint64(0)
	for _, b := range h.Bucket {
		if x := b.Exemplar; x != nil {
			if v := x.GetValue(); !(v > lower && v <= b.GetUpperBound()) {
				t.Errorf("exemplar %v lies outside its bucket (%v, %v]", v, lower, b.GetUpperBound())
			}
			if b.GetCumulativeCount() == below {
				t.Errorf("bucket %v has an exemplar and no observation", b.GetUpperBound())
			}
			out[b.GetUpperBound()] = x.Label[0].GetValue()
		}
		lower, below = b.GetUpperBound(), b.GetCumulativeCount()
	}
	return out
}

func succeeded(m *dto.Metric) bool { return !hasLabel(m.Label, "error_type") }

func TestNewestTracedObservationOfABucketStays(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	check := func(what string, want map[float64]string) {
		t.Helper()
		if got := shown(t, histogramOf(t, r, firstTokens, succeeded)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("nothing yet", map[float64]string{})
	m.Finish(traced(0, 30*ms)) // no trace
	check("without a trace", map[float64]string{})
	m.Finish(traced(1, 30*ms))
	m.Finish(traced(2, 31*ms))
	m.Finish(traced(3, 50*ms))
	m.Finish(traced(4, 90*time.Second)) // above the last bound
	check("two in one bucket", map[float64]string{0.04: traceText(2), 0.08: traceText(3), math.Inf(1): traceText(4)})
	m.Finish(traced(0, 32*ms))
	check("an untraced one takes nothing away", map[float64]string{0.04: traceText(2), 0.08: traceText(3), math.Inf(1): traceText(4)})
	m.Finish(traced(5, 40*ms)) // the bound is the bucket's
	check("a newer one after a scrape", map[float64]string{0.04: traceText(5), 0.08: traceText(3), math.Inf(1): traceText(4)})
	m.Finish(traced(6, 25*ms)) // finished earlier: the clock of a test
	check("an older one that comes late", map[float64]string{0.04: traceText(5), 0.08: traceText(3), math.Inf(1): traceText(4)})
	m.Finish(traced(7, 38*ms))
	m.Finish(traced(8, 37*ms))
	check("two older ones", map[float64]string{0.04: traceText(5), 0.08: traceText(3), math.Inf(1): traceText(4)})

	m.Close()
	m = mustOpen(t, r, "m", nil, Chat)
	m.Finish(traced(0, 30*ms))
	check("of a closed model", map[float64]string{})
}

func TestExemplarsAreOnAllThreeHistogramsAndEveryErrorType(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	id := uint64(1)
	m.Finish(traced(id, 30*ms))
	for f := NoFail + 1; int(f) < NumFailReasons; f++ {
		id++
		rec := traced(id, 30*ms)
		rec.Fail, rec.Operation, rec.Origin = f, Rerank, Studio // an operation that the model doesn't serve
		m.Finish(rec)
	}
	for family, bound := range map[string]float64{durations: 0.08, firstTokens: 0.04, perTokens: 0.04} {
		if got := shown(t, histogramOf(t, r, family, succeeded)); len(got) != 1 || got[bound] != traceText(1) {
			t.Errorf("%s: %v", family, got)
		}
	}
	for i, errorType := range errorTypes[1:] {
		h := histogramOf(t, r, durations, func(m *dto.Metric) bool {
			return m.Label[len(m.Label)-1].GetName() == "error_type" && m.Label[len(m.Label)-1].GetValue() == errorType
		})
		if got := shown(t, h); len(got) != 1 {
			t.Errorf("error_type %s (%d): %v", errorType, i, got)
		}
	}
}

// Trace, span, the exact value, and the time of day at which the request finished, the same on every page.
func TestExemplarIsExact(t *testing.T) {
	o := RecorderOptions{}
	day := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC)
	o.test.wall = func() time.Time { day = day.Add(17 * time.Microsecond); return day } // another reading each time
	r := newTestRecorder(o)                                                             // whose clock stands at 90 s
	m := mustOpen(t, r, "m", nil, Chat)
	rec := traced(0xabc, 33333333*time.Nanosecond)
	m.Finish(rec)
	first := histogramOf(t, r, firstTokens, succeeded).Bucket[2].Exemplar
	if v := first.GetValue(); v != 0.033333333 {
		t.Errorf("value %v", v)
	}
	want := time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC).Add(rec.Finished - 90*time.Second)
	if got := first.Timestamp.AsTime(); got.Before(want) || got.Sub(want) > ms || got.Nanosecond()%1000 != 0 {
		t.Errorf("time %v, want just after %v, in microseconds", got, want)
	}
	if len(first.Label) != 2 || first.Label[0].GetName() != "trace_id" || first.Label[0].GetValue() != traceText(0xabc) ||
		first.Label[1].GetName() != "span_id" || first.Label[1].GetValue() != "0000000000000abd" {
		t.Errorf("labels %v", first.Label)
	}
	if again := histogramOf(t, r, firstTokens, succeeded).Bucket[2].Exemplar; again != first {
		t.Errorf("the next page shows %v, this one %v", again, first)
	}
	rec = traced(5, 5*ms)
	rec.SpanID = [8]byte{}
	m.Finish(rec)
	if x := histogramOf(t, r, firstTokens, succeeded).Bucket[0].Exemplar; len(x.Label) != 1 {
		t.Errorf("without a span: labels %v", x.Label)
	}
}

// Whatever the ladder and the observation, the value that is shown lies in the bucket that shows it.
func TestExemplarsLieInTheirBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bound := rapid.OneOf(rapid.Float64Range(1e-10, 1e-6), rapid.Float64Range(1e-6, 100))
		n := rapid.IntRange(1, 6).Draw(rt, "bounds")
		bounds, at := make([]float64, n), 0.0
		for i := range bounds {
			at += bound.Draw(rt, "step")
			bounds[i] = at
		}
		if _, err := seconds(bounds); err != nil {
			rt.Skip("no ladder")
		}
		r := newTestRecorder(RecorderOptions{Buckets: Buckets{FirstToken: bounds}})
		m := mustOpen(t, r, "m", nil, Chat)
		for i := range rapid.IntRange(1, 5).Draw(rt, "requests") {
			near := int64(bounds[rapid.IntRange(0, n-1).Draw(rt, "near")] * 1e9)
			m.Finish(traced(uint64(i+1), time.Duration(max(0, near+rapid.Int64Range(-2, 2).Draw(rt, "off")))))
		}
		if len(shown(rt2tb{t, rt}, histogramOf(t, r, firstTokens, succeeded))) == 0 {
			rt.Fatal("no exemplar")
		}
	})
}

// rt2tb reports a rapid check's failures to rapid.
type rt2tb struct {
	testing.TB
	rt *rapid.T
}

func (t rt2tb) Errorf(format string, args ...any) { t.rt.Fatalf(format, args...) }

// A writer that finds another in the slot goes on without waiting for it.
func TestBusySlotHoldsNobodyUp(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	half := int(m.ledger.gate.state.Load() >> hotBit)
	slots := m.ledger.exemplars.halves[half]
	for i := range slots {
		slots[i].state.Store(slotBusy)
	}
	m.Finish(traced(1, 30*ms))
	for i := range slots {
		slots[i].state.Store(slotEmpty)
	}
	if got := shown(t, histogramOf(t, r, firstTokens, succeeded)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	m.Finish(traced(2, 30*ms))
	if got := shown(t, histogramOf(t, r, firstTokens, succeeded)); got[0.04] != traceText(2) {
		t.Errorf("%v", got)
	}
}

func TestTracedFinishAllocatesNothing(t *testing.T) {
	for _, native := range []bool{false, true} {
		r := newTestRecorder(RecorderOptions{NativeHistograms: native, Events: -1})
		m := mustOpen(t, r, "m", nil, Chat)
		rec := traced(9, 30*ms)
		if n := testing.AllocsPerRun(1000, func() {
			rec.held.word.Store(0)
			m.Finish(rec)
		}); n != 0 {
			t.Errorf("native %v: %v allocations", native, n)
		}
	}
}

// Writers and scrapers at once: an exemplar is never mixed from two requests, and lies in its bucket.
func TestExemplarsDuringRecording(t *testing.T) {
	const writers, requests = 4, 3000
	r := newTestRecorder(RecorderOptions{NativeHistograms: true})
	m := mustOpen(t, r, "m", nil, Chat)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range requests {
				id := uint64(i*writers + w + 1)
				rec := traced(id, time.Duration(id)*time.Microsecond) // id is what the value must say
				m.Finish(rec)
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	for {
		h := histogramOf(t, r, firstTokens, succeeded)
		shown(t, h)
		var native int64
		for at, i := int64(0), 0; i < len(h.PositiveDelta); i++ {
			at += h.PositiveDelta[i]
			native += at
		}
		if native != int64(h.GetSampleCount()) {
			t.Fatalf("native buckets hold %d observations, the classic ones %d", native, h.GetSampleCount())
		}
		for _, b := range h.Bucket {
			x := b.Exemplar
			if x == nil {
				continue
			}
			if id := uint64(math.Round(x.GetValue() * 1e6)); x.Label[0].GetValue() != traceText(id) || x.Label[1].GetValue() != fmt.Sprintf("%016x", id+1) {
				t.Fatalf("value %v has trace %s and span %s", x.GetValue(), x.Label[0].GetValue(), x.Label[1].GetValue())
			}
		}
		select {
		case <-done:
			if got := histogramOf(t, r, firstTokens, succeeded).GetSampleCount(); got != writers*requests {
				t.Errorf("%d observations, want %d", got, writers*requests)
			}
			return
		default:
		}
	}
}

func BenchmarkFinishTraced(b *testing.B) {
	for _, row := range []struct {
		name           string
		traced, native bool
	}{{"untraced", false, false}, {"traced", true, false}, {"traced,native", true, true}} {
		b.Run(row.name, func(b *testing.B) {
			r := newTestRecorder(RecorderOptions{NativeHistograms: row.native, Events: -1})
			m := mustOpen(b, r, "m", nil, Chat)
			rec := traced(0, 30*ms)
			if row.traced {
				rec = traced(1, 30*ms)
			}
			b.ReportAllocs()
			for b.Loop() {
				rec.held.word.Store(0)
				m.Finish(rec)
			}
		})
	}
}
