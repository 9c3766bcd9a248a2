package conformance

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
)

// The three histograms that carry exemplars, by what an event records of them.
var traced = map[string]func(event) *float64{
	"gen_ai_server_request_duration_seconds":      func(e event) *float64 { return &e.Duration },
	"gen_ai_server_time_to_first_token_seconds":   func(e event) *float64 { return e.TTFT },
	"gen_ai_server_time_per_output_token_seconds": func(e event) *float64 { return e.TPOT },
}

// mixed is the i-th of a mixture of requests: both routes, streamed and not, short
// and long, each with a trace id of its own.
func mixed(i int) call {
	c := call{trace: traceID(i), id: fmt.Sprintf("mixed-%d", i), origin: []string{"live", "batch", "studio"}[i%3]}
	tokens := []int{2, 5, 30, 90}[i%4]
	if i%2 == 0 {
		c.path, c.body = "/v1/chat/completions", fmt.Sprintf(`{"model":"demo","max_tokens":%d,"ignore_eos":true,"stream":%v,"messages":[{"role":"user","content":"What does it count? (%d)"}]}`, tokens, i%4 == 0, i)
	} else {
		c.path, c.body = "/v1/completions", fmt.Sprintf(`{"model":"demo","max_tokens":%d,"ignore_eos":true,"stream":%v,"prompt":"%d, or"}`, tokens, i%4 == 1, i)
	}
	return c
}

// sendMixed sends n of them, wide at a time.
func sendMixed(t *testing.T, ctx context.Context, target string, from, n, wide int) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range wide {
		wg.Go(func() {
			for i := range next {
				if status, reply, err := mixed(i).do(ctx, target); err != nil || status != 200 {
					t.Errorf("request %d: status %d, %v: %.200s", i, status, err, reply)
				}
			}
		})
	}
	for i := range n {
		next <- from + i
	}
	close(next)
	wg.Wait()
}

// TestExemplarsAndQuantiles: what a real Prometheus keeps of traced requests is what
// their events record, and its quantiles are the rollups' own.
func TestExemplarsAndQuantiles(t *testing.T) {
	tool(t, "prometheus")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	target := startServer(t)
	begin := time.Now()
	p := startPrometheus(t, ctx, target, "exemplar-storage")

	// One at a time, each scraped before the next: none hides behind a newer one.
	const alone = 8
	for i := range alone {
		sendMixed(t, ctx, target, i, 1, 1)
		for name := range traced {
			waitForExemplar(t, ctx, p, name, traceID(i), begin)
		}
	}
	sendMixed(t, ctx, target, alone, 80, 8)
	failed := call{path: "/v1/completions", body: `{"model":"gpt","prompt":"a"}`, trace: traceID(500)}
	if status, _, err := failed.do(ctx, target); err != nil || status != 404 {
		t.Fatalf("status %d, %v", status, err)
	}
	waitForExemplar(t, ctx, p, "gen_ai_server_request_duration_seconds", failed.trace, begin)
	if t.Failed() {
		return
	}
	checkExemplars(t, ctx, p, target, begin)
	checkQuantiles(t, ctx, p, target)
}

// waitForExemplar waits until Prometheus has an exemplar of a trace.
func waitForExemplar(t *testing.T, ctx context.Context, p *prometheus, name, trace string, begin time.Time) {
	t.Helper()
	for {
		found, err := p.exemplars(ctx, name+"_bucket", begin)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found[name+"_bucket"] {
			if e.Labels["trace_id"] == trace {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: no exemplar of %s came", name, trace)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// nanosecond is how far two records of one time may differ: an event has it in
// milliseconds and a sample in seconds, and a mean is cut to a nanosecond in one.
const nanosecond = 1.5e-9

func checkExemplars(t *testing.T, ctx context.Context, p *prometheus, target string, begin time.Time) {
	t.Helper()
	known := byTrace(t, events(t, target))
	for name, value := range traced {
		found, err := p.exemplars(ctx, name+"_bucket", begin)
		if err != nil {
			t.Fatal(err)
		}
		all := found[name+"_bucket"]
		if len(all) < 10 || len(found) != 1 {
			t.Errorf("%s has %d exemplars, in %d families", name, len(all), len(found))
		}
		for _, x := range all {
			e, ok := known[x.Labels["trace_id"]]
			if !ok || len(x.Labels) != 2 || x.Labels["span_id"] != e.SpanID || e.SpanID == "" {
				t.Errorf("%s: exemplar %v; the event of the trace is %+v", name, x, e)
				continue
			}
			v, err := strconv.ParseFloat(x.Value, 64)
			want := value(e)
			if err != nil || want == nil || math.Abs(v-*want/1000) > nanosecond {
				t.Errorf("%s: exemplar %v; the event records %v ms", name, x, want)
			}
		}
		t.Logf("%s: %d exemplars, each with its event's value", name, len(all))
	}
}

// rollups is what the tests read of GET /api/rollups.
type rollups struct {
	Series []struct {
		Operation string `json:"gen_ai_operation_name"`
		Origin    string
		Model     string `json:"gen_ai_request_model"`
		Total     struct {
			Requests   uint64
			Duration   rollupHistogram `json:"duration_seconds"`
			FirstToken rollupHistogram `json:"time_to_first_token_seconds"`
			PerToken   rollupHistogram `json:"time_per_output_token_seconds"`
			Quantiles  map[string]map[string]float64
		}
	}
}

type rollupHistogram struct{ Counts []uint64 }

func (h rollupHistogram) count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// checkQuantiles holds the quantiles of the rollups' totals to those that PromQL
// computes from the same counts, for every operation and origin.
func checkQuantiles(t *testing.T, ctx context.Context, p *prometheus, target string) {
	t.Helper()
	p.waitFor(t, ctx, idle)
	var r rollups
	getJSON(t, "http://"+target+"/api/rollups?"+url.Values{"step": {"10s"}}.Encode(), &r)
	if len(r.Series) < 6 {
		t.Errorf("%d series of rollups, want those of 2 operations and 3 origins", len(r.Series))
	}
	compared := 0
	for _, s := range r.Series {
		for name, h := range map[string]rollupHistogram{
			"duration_seconds": s.Total.Duration, "time_to_first_token_seconds": s.Total.FirstToken, "time_per_output_token_seconds": s.Total.PerToken,
		} {
			if h.count() == 0 {
				continue
			}
			family := "gen_ai_server_" + strings.Replace(name, "duration", "request_duration", 1)
			selector := fmt.Sprintf(`{gen_ai_operation_name=%q,origin=%q,gen_ai_request_model=%q}`, s.Operation, s.Origin, s.Model)
			p.waitFor(t, ctx, fmt.Sprintf(`sum(%s_count%s) == %d`, family, selector, h.count()))
			quantiles := s.Total.Quantiles[name]
			if len(quantiles) < 4 {
				t.Errorf("%s %s: quantiles %v", name, selector, quantiles)
			}
			for q, own := range quantiles {
				percent, err := strconv.ParseFloat(strings.TrimPrefix(q, "p"), 64)
				if err != nil {
					t.Fatal(err)
				}
				v, ok, err := p.value(ctx, fmt.Sprintf(`histogram_quantile(%v, sum by (le) (%s_bucket%s))`, percent/100, family, selector))
				if err != nil || !ok || math.Abs(v-own) > 1e-9*math.Abs(own) || own <= 0 {
					t.Errorf("%s %s %s: Prometheus computes %v, the rollups %v: %v", name, selector, q, v, own, err)
				}
				compared++
			}
		}
	}
	if compared < 6*3*4 {
		t.Errorf("only %d quantiles were compared", compared)
	}
	t.Logf("%d quantiles of the rollups are Prometheus' own", compared)
}

// TestNativeHistograms: where they are on, a Prometheus that asks for protobuf takes
// them in; they count what the classic ones do, and resolve better.
func TestNativeHistograms(t *testing.T) {
	tool(t, "prometheus")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r := newRig(t, paddock.Options{}, paddock.HandlerOptions{}, metrics.RecorderOptions{NativeHistograms: true})
	p := startPrometheus(t, ctx, r.target, "native-histograms", "exemplar-storage")
	const n = 60
	sendMixed(t, ctx, r.target, 0, n, 6)
	for name, value := range traced {
		count := 0
		sum := 0.0
		for _, e := range events(t, r.target) {
			if v := value(e); v != nil {
				count++
				sum += *v / 1000
			}
		}
		if count != n {
			t.Errorf("%s: %d events have it", name, count)
		}
		p.waitFor(t, ctx, fmt.Sprintf(`histogram_count(sum(%s)) == %d`, name, count)) // a function of native histograms: of classic ones it has no result
		if v := p.must(t, ctx, fmt.Sprintf(`histogram_sum(sum(%s))`, name)); math.Abs(v-sum) > 1e-6*sum {
			t.Errorf("%s: the sum is %v, of the events %v", name, v, sum)
		}
		for _, q := range []float64{0.5, 0.9} {
			native := p.must(t, ctx, fmt.Sprintf(`histogram_quantile(%v, sum(%s))`, q, name))
			exact := exactQuantile(q, events(t, r.target), value)
			if math.Abs(native-exact) > 0.1*exact {
				t.Errorf("%s: the native q%v is %v, of the events %v", name, q, native, exact)
			}
		}
	}
}
