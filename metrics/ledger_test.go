package metrics

import (
	"math"
	"slices"
	"testing"
)

func TestSumsCarryBeyond64Bits(t *testing.T) {
	layout, err := newLayout(Buckets{})
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(layout, new(gate))
	const half = uint64(1) << 63
	for range 6 { // 3 · 2^64
		e := l.in(l.gate.enter())
		e.observe(0, hQueue, half, 1, half)
		l.gate.leave(int(l.gate.state.Load() >> hotBit))
		l.take(l.gate.flip())
	}
	sum := l.at[hQueue] + l.ladders[hQueue].cells() - 1
	if got := l.total(sum); got != 3*math.Pow(2, 64) {
		t.Errorf("the sum is %v, want 3·2^64", got)
	}
	if got := l.total(sum - 1); got != 6 {
		t.Errorf("%v observations above the last bound, want 6", got)
	}
}

// No two histograms or counters may share a word: each is added to alone and everything else must stay 0.
func TestLayoutDoesNotOverlap(t *testing.T) {
	for _, b := range []Buckets{{}, SpecBuckets()} {
		layout, err := newLayout(b)
		if err != nil {
			t.Fatal(err)
		}
		owner := make([]string, layout.size)
		own := func(who string, from, n int) {
			for i := from; i < from+n; i++ {
				if owner[i] != "" {
					t.Fatalf("word %d belongs to %s and %s", i, owner[i], who)
				}
				owner[i] = who
			}
		}
		for op := range Operation(NumOperations) {
			for or := range Origin(NumOrigins) {
				base := layout.base(op, or)
				for id := range firstModelHist {
					own(op.String()+or.String(), base+layout.at[id], layout.ladders[id].cells())
				}
				own("success", base+layout.success, numFinishReasons)
				own("failure", base+layout.failure, NumFailReasons)
			}
		}
		for id := firstModelHist; int(id) < numHists; id++ {
			own("model", layout.at[id], layout.ladders[id].cells())
		}
		if i := slices.Index(owner, ""); i >= 0 {
			t.Errorf("word %d of %d belongs to nobody", i, layout.size)
		}
	}
}

func TestBucketsIncludeTheirBound(t *testing.T) {
	l := doubling(10, 3, 1) // 10, 20, 40
	for v, want := range map[uint64]int{0: 0, 9: 0, 10: 0, 11: 1, 20: 1, 21: 2, 40: 2, 41: 3, math.MaxUint64: 3} {
		if got := l.bucket(v); got != want {
			t.Errorf("%d falls in bucket %d, want %d", v, got, want)
		}
	}
}

func TestBucketBounds(t *testing.T) {
	spec := SpecBuckets()
	for _, bounds := range [][]float64{spec.Duration, spec.FirstToken, spec.PerToken, {0.3}, {0.07, 0.29, 1e9}} {
		l, err := seconds(bounds)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bounds {
			if l.bounds[i] != b || math.Abs(float64(l.limits[i])-b*1e9) > 0.5 {
				t.Errorf("bound %v has limit %d", b, l.limits[i])
			}
		}
	}
	for _, bounds := range [][]float64{{}, {0}, {-1}, {math.NaN()}, {math.Inf(1)}, {1, 1}, {2, 1}, {1, 1 + 1e-12}, make([]float64, 65)} {
		if _, err := seconds(bounds); err == nil {
			t.Errorf("%v makes a ladder", bounds)
		}
	}
	r := newTestRecorder(RecorderOptions{Buckets: spec})
	m := mustOpen(t, r, "m", nil, Chat)
	m.Finish(finished(Chat, Live, 5)) // duration 141 ms, first token 100 ms, per token 10 ms
	s, b := scrapeOf(t, r), base(Chat, "m", Live)
	s.want(t, "gen_ai_server_time_to_first_token_seconds_bucket{"+b+`,le="0.08"}`, 0)
	s.want(t, "gen_ai_server_time_to_first_token_seconds_bucket{"+b+`,le="0.1"}`, 1)
	s.want(t, "gen_ai_server_time_per_output_token_seconds_bucket{"+b+`,le="0.01"}`, 1)
	s.want(t, "gen_ai_server_request_duration_seconds_bucket{"+b+`,le="0.16"}`, 1)
	defer func() {
		if recover() == nil {
			t.Error("a recorder with bounds out of order was made")
		}
	}()
	newTestRecorder(RecorderOptions{Buckets: Buckets{PerToken: []float64{2, 1}}})
}
