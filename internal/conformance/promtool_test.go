package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lint is what promtool says of the page of a server.
func lint(t *testing.T, target string) string {
	t.Helper()
	promtool := tool(t, "promtool")
	_, page := fetchPage(t, "http://"+target+"/metrics", "")
	c := exec.Command(promtool, "check", "metrics")
	c.Stdin = strings.NewReader(string(page))
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState.ExitCode() != 3 { // 3: it has advice
		t.Fatalf("promtool check metrics: %v\n%s", err, out)
	}
	return string(out)
}

// TestPromtool: of the native page of a server that has answered and failed,
// promtool says nothing; of vLLM's names it says what is listed, and no more.
func TestPromtool(t *testing.T) {
	listed, err := os.ReadFile(filepath.Join("..", "..", "metrics", "testdata", "vllm-promtool.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--spec", "ngram"}, {"--spec", "ngram", "--metrics-vllm"}} {
		target := startServer(t, flags...)
		sendMixed(t, t.Context(), target, 0, 8, 4)
		if status, _, err := (call{path: "/v1/completions", body: `{"model":"gpt","prompt":"a"}`}).do(t.Context(), target); err != nil || status != 404 {
			t.Fatalf("status %d, %v", status, err)
		}
		found := 0
		for line := range strings.Lines(lint(t, target)) {
			found++
			if len(flags) < 3 || !strings.HasPrefix(line, "vllm:") || !strings.Contains(string(listed), line) {
				t.Errorf("%v: %s", flags, line)
			}
		}
		if len(flags) == 3 && found < 30 {
			t.Errorf("only %d findings on vLLM's names: the view is not on the page", found)
		}
	}
}
