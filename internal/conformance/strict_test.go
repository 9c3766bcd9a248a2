package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// python is Debian's own, which is where its packages are.
const python = "/usr/bin/python3"

// strictParser is a Python program that holds pages to the parsers of the official
// client library for Python, those that a benchmark client reads pages with.
type strictParser struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

// verdict is what it says of a page.
type verdict struct {
	Error                               string
	Families, Samples, Exemplars, Units int
	Types                               map[string]string
}

// theParser is started once for all tests of a run; it ends with the run, when its
// input does.
var theParser = sync.OnceValues(func() (*strictParser, error) {
	if out, err := exec.Command(python, "-c", "import prometheus_client").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	c := exec.Command(python, "testdata/strict.py")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &strictParser{in: in, out: bufio.NewReaderSize(out, 1<<20)}, c.Start()
})

// strict is the parser. Where it is missing it says so and is nil; in CI that is a
// failure.
func strict(t *testing.T) *strictParser {
	t.Helper()
	p, err := theParser()
	switch {
	case err == nil:
		return p
	case os.Getenv("CI") == "true":
		t.Errorf("no strict parser; CI installs Debian's package python3-prometheus-client: %v", err)
	default:
		t.Logf("no strict parser (Debian's package python3-prometheus-client has it): the page is not checked: %v", err)
	}
	return nil
}

// read parses a page. Safe for concurrent use.
func (p *strictParser) read(format string, page []byte) (verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v verdict
	if _, err := fmt.Fprintf(p.in, "%s %d\n%s", format, len(page), page); err != nil {
		return v, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return v, err
	}
	if v.Error != "" {
		return v, fmt.Errorf("the strict parser refuses the page: %s", v.Error)
	}
	return v, nil
}

const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// fetchPage gets a page in the format that accept asks for.
func fetchPage(t *testing.T, url, accept string) (contentType string, page []byte) {
	t.Helper()
	q, err := http.NewRequest("GET", url, nil) // not with the test's context, which has ended when its cleanups run
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		q.Header.Set("Accept", accept)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v: %.200s", url, res.StatusCode, err, page)
	}
	return res.Header.Get("Content-Type"), page
}

// checkOpenMetrics holds the OpenMetrics page at url to the strict parser. Tests
// that have a server end with it.
func checkOpenMetrics(t *testing.T, url string) (v verdict) {
	t.Helper()
	p := strict(t)
	if p == nil {
		return v
	}
	contentType, page := fetchPage(t, url, "application/openmetrics-text;version=1.0.0")
	if !strings.HasPrefix(contentType, openMetricsType) {
		t.Errorf("asked for OpenMetrics, got %q", contentType)
		return v
	}
	v, err := p.read("openmetrics", page)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	if v.Families < 10 || v.Samples < 20 { // it is the page, and it was read
		t.Errorf("%s: %d families, %d samples", url, v.Families, v.Samples)
	}
	return v
}

// TestStrictParser: the parser refuses what a page must not have, so that its
// silence says something.
func TestStrictParser(t *testing.T) {
	p := strict(t)
	if p == nil {
		return
	}
	const good = "# HELP a_seconds A.\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds 1.0\n# TYPE c counter\nc_total 2.0 # {trace_id=\"x\"} 1.0 1.0\n# EOF\n"
	if v, err := p.read("openmetrics", []byte(good)); err != nil || v.Families != 2 || v.Samples != 2 || v.Exemplars != 1 || v.Units != 1 || v.Types["c"] != "counter" {
		t.Errorf("%+v, %v", v, err)
	}
	for name, page := range map[string]string{
		"no end":               strings.TrimSuffix(good, "# EOF\n"),
		"a unit not in a name": strings.Replace(good, "a_seconds seconds", "a_seconds bytes", 1),
		"a family twice":       strings.Replace(good, "# EOF", "# TYPE a_seconds gauge\na_seconds 1.0\n# EOF", 1),
		"an exemplar too long": strings.Replace(good, "\"x\"", "\""+strings.Repeat("x", 129)+"\"", 1),
		"a blank line":         "\n" + good,
		"a NaN":                strings.Replace(good, "a_seconds 1.0", "a_seconds NaN", 1),
	} {
		if _, err := p.read("openmetrics", []byte(page)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if v, err := p.read("classic", []byte("# TYPE c_total counter\nc_total 2\n")); err != nil || v.Types["c"] != "counter" {
		t.Errorf("%+v, %v", v, err)
	}
}
