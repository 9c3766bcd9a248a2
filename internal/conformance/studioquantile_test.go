package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// TestStudioQuantiles: the page's percentiles are Go's to the bit, on random buckets
// and on those of a real recorder, which computed its own from the same counts.
func TestStudioQuantiles(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	b := openTab(t, 800, 600, false)
	b.open(f.url, "loading")
	rng := rand.New(rand.NewPCG(7, 7))
	type histogram struct {
		Bounds []float64
		Counts []uint64
		Want   metrics.Quantiles
	}
	var all []histogram
	for range 60 {
		var bounds []float64
		for at := 0.0; len(bounds) < 1+rng.IntN(12); {
			at += rng.ExpFloat64() * 0.1
			bounds = append(bounds, at)
		}
		rec := metrics.NewRecorder(metrics.RecorderOptions{Buckets: metrics.Buckets{Duration: bounds, FirstToken: bounds, PerToken: bounds}})
		m, err := rec.OpenModel("m", []metrics.Operation{metrics.Chat}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(200) {
			r := &metrics.Record{Operation: metrics.Chat, Arrival: 1, Queued: 1, Scheduled: 1, Finished: 1 + time.Duration(rng.ExpFloat64()*float64(300*time.Millisecond))}
			m.Finish(r)
		}
		rollups, err := rec.Rollups(time.Time{}, time.Time{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		total := rollups.Series[0].Total
		all = append(all, histogram{rollups.Bounds.Duration, total.Duration.Counts, *total.Quantiles.Duration})
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	got := eval[[][]float64](b, fmt.Sprintf(`(async () => {
		const main = document.querySelector("script[type=module]").src;
		const {quantile} = await import(new URL("quantile.js", main).href);
		return %s.map((h) => [0.5, 0.9, 0.95, 0.99].map((q) => quantile(q, h.Bounds, h.Counts)));
	})()`, in))
	for i, h := range all {
		want := []float64{h.Want.P50, h.Want.P90, h.Want.P95, h.Want.P99}
		for k := range want {
			if got[i][k] != want[k] {
				t.Errorf("%v of %v: the page has %v, Go %v", h.Counts, h.Bounds, got[i], want)
				break
			}
		}
	}
	// The same answers where there is no number to give.
	odd := eval[[]string](b, `(async () => {
		const {quantile} = await import(new URL("quantile.js", document.querySelector("script[type=module]").src).href);
		return [[0.5, [1, 2], [0, 0, 0]], [0.5, [], [3]], [-1, [1], [1, 0]], [2, [1], [1, 0]], [NaN, [1], [1, 0]], [0, [1, 2], [0, 1, 0]], [0.99, [1, 2], [1, 0, 9]], [0.5, [0, 1], [5, 1, 0]]].map((a) => String(quantile(...a)));
	})()`)
	if s := fmt.Sprint(odd); s != "[NaN NaN -Infinity Infinity NaN NaN 2 0]" {
		t.Errorf("the odd ones are %s", s)
	}
}
