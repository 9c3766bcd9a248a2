package metrics

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// vllmFindings is what promtool check metrics says of the page with the view: all of it is about names that are vLLM's own.
const vllmFindings = "testdata/vllm-promtool.txt"

func busyView(t testing.TB) (*Recorder, string) {
	r := newTestRecorder(RecorderOptions{})
	r.showVLLM()
	m := mustOpen(t, r, "tiny", busySnapshot(), Chat)
	m.Step(&StepStats{Tokens: 33, Took: 4 * ms, Gaps: []TokenGap{{Chat, Live, 10 * ms, 1}, {Chat, Studio, 9 * ms, 3}},
		Residency: []PageResidency{{Lifetime: 500 * ms, Idle: 20 * ms, Gaps: [3]time.Duration{3 * ms, 70 * ms}, NGaps: 2}}})
	rec := finished(Chat, Live, 5)
	rec.MaxTokens, rec.Preemptions = 16, 1
	m.Finish(rec)
	gone := finished(Chat, Batch, 1)
	gone.Fail = Disconnect
	m.Finish(gone)
	return r, get(t, HandlerFor(HandlerOptions{Recorder: r, VLLM: true}))
}

// The view as a scraper gets it. What stands before it is TestPageIsGolden's.
func TestVLLMPageIsGolden(t *testing.T) {
	_, page := busyView(t)
	at := strings.Index(page, "# HELP vllm:")
	golden(t, "testdata/vllm.txt", []byte(page[at:]))
}

func TestVLLMFindingsAreNames(t *testing.T) {
	r, _ := busyView(t)
	families, err := r.gather(writeVLLM)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&b, p.Metric, p.Text)
		of := strings.HasPrefix(p.Metric, "vllm:") && p.Text == "metric names should not contain ':'"
		suffix := p.Metric == "vllm:iteration_tokens_total" && p.Text == `non-counter metrics should not have "_total" suffix`
		if !of && !suffix {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	golden(t, vllmFindings, []byte(b.String()))
}

// promtool itself finds the same, on the same page.
func TestPromtoolFindsOnlyVLLMNames(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: install the prometheus package to run this check")
	}
	_, page := busyView(t)
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 { // 3: it parses, and there are findings
		t.Errorf("promtool check metrics: %v", err)
	}
	golden(t, vllmFindings, out)
}
