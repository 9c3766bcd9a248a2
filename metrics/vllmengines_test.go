package metrics

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func viewOf(t testing.TB, r *Recorder) series {
	t.Helper()
	return parse(t, get(t, HandlerFor(HandlerOptions{Recorder: r, VLLM: true})))
}

// The view is there for who asks for it, on whatever recorder; without it the page is the native one.
func TestVLLMOnlyWhereAsked(t *testing.T) {
	r, m := busyRecorder(t, RecorderOptions{})
	plain := HandlerFor(HandlerOptions{Recorder: r})
	before := get(t, plain)
	page := get(t, HandlerFor(HandlerOptions{Recorder: r, VLLM: true}))
	if !strings.HasPrefix(page, before) {
		t.Error("the native families are not first on the page, as they are without the view")
	}
	if after := get(t, plain); after != before || strings.Contains(after, "vllm:") {
		t.Error("the view of one handler changed another's page")
	}
	s := parse(t, page) // counters from the start, histograms from now
	s.want(t, `vllm:generation_tokens_total{model_name="tiny",engine="0"}`, 519)
	s.want(t, `vllm:e2e_request_latency_seconds_count{model_name="tiny",engine="0"}`, 0)
	m.Finish(finished(Chat, Live, 5))
	for range 3 { // handlers that turn on what is on
		viewOf(t, r).want(t, `vllm:e2e_request_latency_seconds_count{model_name="tiny",engine="0"}`, 1)
	}
	if len(r.loggers) != 1 {
		t.Errorf("%d loggers, want the view once", len(r.loggers))
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "vllm:") {
			t.Errorf("Gather has %s", f.GetName())
		}
	}
	off := HandlerFor(HandlerOptions{Recorder: Off, VLLM: true})
	if w := answer(off); w != http.StatusNotFound || len(Off.loggers) != 0 {
		t.Errorf("Off has a view: %d, %d loggers", w, len(Off.loggers))
	}
}

// Every closed combination is there at 0 from the opening on, and no number is NaN.
func TestVLLMStartsAtZero(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	viewOf(t, r).want(t, `vllm:admission_rejections_total{reason="queue_full"}`, 0)
	mustOpen(t, r, "m", &fixedSource{}, Chat)
	s := viewOf(t, r)
	for _, reason := range finishedReasons {
		s.want(t, `vllm:request_success_total{model_name="m",engine="0",finished_reason="`+reason+`"}`, 0)
	}
	s.want(t, `vllm:gpu_prefix_cache_hit_rate{model_name="m",engine="0"}`, 0)
	s.absent(t, "vllm:spec_decode_")
	s.absent(t, "vllm:estimated_")
	s.absent(t, "vllm:kv_block_")
	for name, v := range s {
		if strings.HasPrefix(name, "vllm:") && v != 0 && !strings.HasPrefix(name, "vllm:cache_config_info") {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// The least free index is an engine's label; a closed engine takes its series away and the next one starts at its own zero.
func TestVLLMEnginesComeAndGo(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	viewOf(t, r)
	a, b, c := newSim(t, r, "a"), newSim(t, r, "b"), newSim(t, r, "c")
	for _, e := range []*sim{a, b, b, c, c, c} {
		e.live(lives[0].life)
	}
	count := func(s series, model, engine string) float64 {
		return s[`vllm:e2e_request_latency_seconds_count{model_name="`+model+`",engine="`+engine+`"}`]
	}
	s := viewOf(t, r)
	if count(s, "a", "0") != 1 || count(s, "b", "1") != 2 || count(s, "c", "2") != 3 {
		t.Errorf("engines have %v, %v, %v requests", count(s, "a", "0"), count(s, "b", "1"), count(s, "c", "2"))
	}
	if err := b.m.Close(); err != nil {
		t.Fatal(err)
	}
	b.live(lives[0].life) // late
	for name := range viewOf(t, r) {
		if strings.Contains(name, `"b"`) || strings.Contains(name, `engine="1"`) {
			t.Errorf("%s is of a closed engine", name)
		}
	}
	d := newSim(t, r, "d")
	again := viewOf(t, r)
	again.want(t, `vllm:e2e_request_latency_seconds_count{model_name="d",engine="1"}`, 0)
	again.want(t, `vllm:generation_tokens_total{model_name="d",engine="1"}`, 0)
	again.want(t, `vllm:iteration_tokens_total_sum{model_name="d",engine="1"}`, 0)
	if count(again, "c", "2") != 3 {
		t.Error("another engine's closing moved c")
	}
	d.live(lives[0].life)
	a.m.Close()
	reopened := newSim(t, r, "a") // the same name and index as before
	probe{familiesOf(viewOf(t, r)), reopened, "0"}.check("reopened")
	reopened.live(lives[2].life)
	page := familiesOf(viewOf(t, r))
	probe{page, reopened, "0"}.check("reopened, one request")
	probe{page, d, "1"}.check("d")
}

// The family without an engine label is the sum over engines, and doesn't go down when one of them leaves.
func TestVLLMRejectionsAreOfAllEngines(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	var a, b published
	a.publish(Snapshot{Rejected: [NumRejectReasons]uint64{1, 2, 3, 4}})
	b.publish(Snapshot{Rejected: [NumRejectReasons]uint64{10, 20, 30, 40}})
	first := mustOpen(t, r, "a", &a, Chat)
	mustOpen(t, r, "b", &b, Chat)
	check := func(when string, want ...float64) {
		t.Helper()
		s := viewOf(t, r)
		for reason, n := range want {
			s.want(t, `vllm:admission_rejections_total{reason="`+RejectReason(reason).String()+`"}`, n)
		}
		if t.Failed() {
			t.Fatal(when)
		}
	}
	check("two engines", 11, 22, 33, 44)
	a.publish(Snapshot{Rejected: [NumRejectReasons]uint64{5, 2, 3, 4}}) // after the last scrape
	first.Close()
	check("one closed", 15, 22, 33, 44)
	mustOpen(t, r, "a", &fixedSource{Rejected: [NumRejectReasons]uint64{RejectDraining: 7}}, Chat)
	check("another opened", 15, 22, 40, 44)
}

// The configuration reads as vLLM's does where there is something to say, and None where not.
func TestVLLMCacheConfig(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	mustOpen(t, r, "m", &fixedSource{PagesTotal: 100, PagesFree: 100, PageSize: 16, MaxContext: 330, KVType: KVBF16,
		Memory: [NumMemoryKinds]int64{MemoryKV: 12345}}, Chat)
	mustOpen(t, r, "empty", &fixedSource{}, Chat)
	var lines []string
	for name, v := range viewOf(t, r) {
		if block, ok := strings.CutPrefix(name, "vllm:cache_config_info"); ok {
			lines = append(lines, block)
			if v != 1 {
				t.Errorf("%s is %v", name, v)
			}
		}
	}
	if len(lines) != 2 {
		t.Fatalf("%d series, want one an engine", len(lines))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[len(a)-4:], b[len(b)-4:]) })
	for _, want := range []string{`block_size="16"`, `num_gpu_blocks="100"`, `cache_dtype="bf16"`, `kv_cache_size_tokens="1600"`,
		`kv_cache_max_concurrency="4.761904761904762"`, `kv_cache_memory_bytes="12345"`, `enable_prefix_caching="True"`,
		`sliding_window="None"`, `num_cpu_blocks="None"`, `engine="0"`} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%s is not in %s", want, lines[0])
		}
	}
	if strings.Contains(lines[0], "model_name") || !strings.Contains(lines[1], `kv_cache_max_concurrency="None"`) {
		t.Error(lines)
	}
}

// While writers push, every page has each step and each request in both views or in neither.
func TestVLLMAndNativeAgreeOnEveryPage(t *testing.T) {
	const writers, requests = 3, 300
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", &fixedSource{Residency: true}, Chat)
	h := HandlerFor(HandlerOptions{Recorder: r, VLLM: true})
	var writing, scraping sync.WaitGroup
	var stop atomic.Bool
	for range writers {
		writing.Go(func() {
			for i := range requests {
				rec := finished(Chat, Live, 3)
				if i%4 == 0 {
					rec.Fail = Disconnect
				}
				m.Finish(rec)
				m.Step(&StepStats{Tokens: 3, Took: ms, Gaps: []TokenGap{{Chat, Live, 30 * ms, 3}}, Residency: []PageResidency{{NGaps: 3}}})
			}
		})
	}
	for range 2 {
		scraping.Go(func() {
			for last := false; !last; {
				last = stop.Load()
				s := familiesOf(parse(t, get(t, h)))
				p := probe{s, &sim{t: t, m: m}, "0"}
				for name, c := range claims {
					if c.same == "" {
						continue
					}
					if got, want := p.view(name+"_count"), p.native(c.same+"_count"); got != want {
						t.Errorf("%s has seen %v, %s %v", name, got, c.same, want)
					}
				}
				ended := p.view("vllm:e2e_request_latency_seconds_count")
				if all := p.native("gen_ai_server_request_duration_seconds_count"); all != ended {
					t.Errorf("%v requests here, %v there", ended, all)
				}
				if got := p.view("vllm:request_prompt_tokens_sum"); got != 100*ended {
					t.Errorf("%v requests of 100 tokens each have %v", ended, got)
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	scraping.Wait()
	viewOf(t, r).want(t, `vllm:e2e_request_latency_seconds_count{model_name="m",engine="0"}`, writers*requests)
}

// The view costs writers no allocation either.
func TestVLLMRecordingAllocatesNothing(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	r.showVLLM()
	m := mustOpen(t, r, "m", &fixedSource{}, Chat)
	step := &StepStats{Tokens: 8, Took: ms, Gaps: slices.Repeat([]TokenGap{{Chat, Live, ms, 2}}, 8), Residency: []PageResidency{{NGaps: 3}}}
	if n := testing.AllocsPerRun(100, func() { m.Step(step) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	rec := finished(Chat, Live, 5)
	if n := testing.AllocsPerRun(100, func() {
		rec.held.word.Store(0)
		m.Finish(rec)
	}); n != 0 {
		t.Errorf("a request's end allocates %v times", n)
	}
}

// A view turned on while writers push takes them in without losing the native numbers.
func TestVLLMTurnedOnUnderLoad(t *testing.T) {
	const requests = 500
	r := newTestRecorder(RecorderOptions{})
	m := mustOpen(t, r, "m", &fixedSource{}, Chat)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range requests {
				m.Finish(finished(Chat, Live, 2))
			}
		})
	}
	wg.Go(func() { viewOf(t, r) })
	wg.Wait()
	before := viewOf(t, r)
	native := "gen_ai_server_request_duration_seconds_count{" + base(Chat, "m", Live) + "}"
	before.want(t, native, 2*requests)
	m.Finish(finished(Chat, Live, 2))
	after := viewOf(t, r)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if strings.HasPrefix(name, "vllm:e2e_request_latency_seconds_count") && after[name] != before[name]+1 {
			t.Errorf("%s went from %v to %v", name, before[name], after[name])
		}
	}
	after.want(t, native, 2*requests+1)
}

func answer(h http.Handler) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Code
}
