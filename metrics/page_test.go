package metrics

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// busySnapshot has a value of its own in every field, and its books balance.
func busySnapshot() *fixedSource {
	s := &fixedSource{
		Admitted: 60, Finished: [NumEndReasons]uint64{21, 12, 5, 2}, Running: 9, Waiting: [NumWaitReasons]int{4, 2, 1, 0, 0, 4},
		PromptFrom: [NumPromptSources]uint64{700, 320, 16}, PrefixQueries: 1036, PrefixHits: 320,
		Rejected: [NumRejectReasons]uint64{3, 1, 0, 2}, Preemptions: 6, Recomputed: 77, PagesEvicted: 8,
		PagesUsed: 48, PagesFree: 16, PagesCached: 10, PagesTotal: 64, PageSize: 16, KVType: KVF16,
		Memory: [NumMemoryKinds]int64{3 << 20, 2 << 20, 1 << 20},
		Spec: SpecCounts{Drafts: 10, DraftTokens: 40, AcceptedTokens: 25, Positions: 4,
			AcceptedAt: [MaxDraft]uint64{10, 7, 5, 3}},
		Estimated: true, Flops: 123456789, ReadBytes: 4096, WriteBytes: 1024, Residency: true,
	}
	s.Prompt[Chat][Live], s.Prompt[Chat][Batch] = 1000, 36
	s.Cached[Chat][Live] = 336
	s.Generated[Chat][Live], s.Generated[Chat][Studio] = 512, 7
	return s
}

// busyRecorder has one model with something in every kind of series.
func busyRecorder(t testing.TB, o RecorderOptions) (*Recorder, *Model) {
	r := newTestRecorder(o)
	m := mustOpen(t, r, "tiny", busySnapshot(), Chat)
	r.InFlight(3)
	r.InFlight(-1)
	m.Step(&StepStats{Tokens: 33, Took: 4 * ms, Gaps: []TokenGap{{Chat, Live, 10 * ms, 1}, {Chat, Studio, 9 * ms, 3}},
		Residency: []PageResidency{{Lifetime: 70 * time.Second, Idle: 60 * time.Second, Gaps: [3]time.Duration{2 * time.Second, 3 * time.Second}, NGaps: 2}}})
	m.Finish(finished(Chat, Live, 5))
	m.Finish(finished(Chat, Batch, 1))
	refused := &Record{Operation: Chat, Fail: Unauthorized, Arrival: time.Second, Finished: time.Second + ms}
	m.Finish(refused)
	gone := finished(Chat, Live, 3)
	gone.Fail = Disconnect
	m.Finish(gone)
	r.http.open()
	r.http.observe(r.http.route("POST /v1/chat/completions"), "POST", 200, 120*ms, 300, 5000)
	r.http.observe(r.http.route(""), "GET", 404, 0, 0, 19)
	return r, m
}

func TestPageIsGolden(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	golden(t, "testdata/page.txt", []byte(get(t, HandlerFor(HandlerOptions{Recorder: r}))))
}

func TestBusySnapshotBalances(t *testing.T) {
	if err := CheckBooks((*Snapshot)(busySnapshot())); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyPageHasEveryClosedSeriesAtZero(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	mustOpen(t, r, "a", &fixedSource{}, Chat, TextCompletion)
	mustOpen(t, r, "b", &fixedSource{}, Embeddings)
	s := scrapeOf(t, r)
	for _, or := range []Origin{Live, Batch, Studio} {
		for _, b := range []string{base(Chat, "a", or), base(TextCompletion, "a", or), base(Embeddings, "b", or)} {
			for i := range table {
				f := &table[i]
				switch {
				case f.labels == "base" && f.kind == counter:
					s.want(t, f.sampleName()+"{"+b+"}", 0)
				case strings.HasPrefix(f.labels, "base") && f.kind == histogram:
					s.want(t, f.name+"_count{"+b+"}", 0)
					s.want(t, f.name+"_sum{"+b+"}", 0)
				}
			}
			s.want(t, "paddock_request_success_total{"+b+`,finish_reason="stop"}`, 0)
		}
	}
	s.want(t, `paddock_num_requests_waiting_by_reason{model="a",reason="parked"}`, 0)
	s.want(t, `paddock_requests_finished_total{model="b",reason="abort"}`, 0)
	s.want(t, `paddock_kv_cache_usage_perc{model="b"}`, 0)
	s.want(t, `paddock_spec_decode_accepted_tokens_per_pos_total{model="a",position="0"}`, 0)
	s.absent(t, "paddock_request_failure")
	s.absent(t, "paddock_prompt_tokens_total{"+base(Embeddings, "a", Live))
	s.absent(t, "paddock_estimated_")
	s.absent(t, `paddock_request_success_total{`+base(Embeddings, "b", Live)+`,finish_reason="tool_calls"`)
	for name, v := range s {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s is %v", name, v)
		}
		if strings.Contains(name, "_created") || strings.Contains(name, "_uptime") || strings.Contains(name, "error_type") {
			t.Errorf("%s must not be there", name)
		}
	}
}

func TestPageLintsClean(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestPromtoolFindsNothing(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: install the prometheus package to run this check")
	}
	r, _ := busyRecorder(t, RecorderOptions{})
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(get(t, HandlerFor(HandlerOptions{Recorder: r})))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// A registry checks what our own Gather doesn't: valid names and labels, no series twice, one type and help for a family.
func TestRegistryShowsTheSamePage(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{Resource: true})
	registry := prometheus.NewRegistry()
	if err := registry.Register(r); err != nil {
		t.Fatal(err)
	}
	theirs, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(ours, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	if len(ours) != len(theirs) {
		t.Fatalf("%d families, through a registry %d", len(ours), len(theirs))
	}
	for i, f := range ours {
		if g := theirs[i]; f.GetName() != g.GetName() || f.GetHelp() != g.GetHelp() || f.GetType() != g.GetType() || len(f.Metric) != len(g.Metric) {
			t.Errorf("%s with %d series is, through a registry, %s with %d", f.GetName(), len(f.Metric), g.GetName(), len(g.Metric))
		}
	}
	if err := registry.Register(r); err == nil {
		t.Error("registered twice without an error")
	}
}

func TestRegistryOfTheCallerHasNoResource(t *testing.T) {
	r, _ := busyRecorder(t, RecorderOptions{})
	registry := prometheus.NewRegistry()
	prometheus.WrapRegistererWith(prometheus.Labels{"zone": "x", "a": "b"}, registry).MustRegister(r)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "target_info" || f.GetName() == "process_start_time_seconds" {
			t.Errorf("%s is there", f.GetName())
		}
		for _, m := range f.Metric {
			if !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "zone" }) {
				t.Errorf("%s lacks the wrapper's label", f.GetName())
			}
		}
	}
	golden(t, "testdata/page.txt", []byte(get(t, HandlerFor(HandlerOptions{Recorder: r})))) // the wrapper changed nothing of ours
}
