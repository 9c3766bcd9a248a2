package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestWithoutGPU: no library of a driver is an ordinary thing.
func TestWithoutGPU(t *testing.T) {
	m := start(t)
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`, "/": "paddock studio", "/metrics": "go_goroutines", "/metrics/": "paddock_build_info",
		"/api/runners": `{"runners":[]}`, "/api/usage": `"series":[]`, "/api/gpu": `"available":false`,
	} {
		if status, body := get(t, m.url+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d without %s: %.300s", path, status, want, body)
		}
	}
	eventually(t, "a reason", func() bool {
		_, body := get(t, m.url+"/api/gpu")
		return strings.Contains(body, "no-library.so") && strings.Contains(body, `"gpus":[]`)
	})
	_, page := get(t, m.url+"/metrics")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "paddock_") && !strings.HasPrefix(line, "paddock_build_info") || strings.HasPrefix(line, "gen_ai_") {
			t.Errorf("on the page: %s", line)
		}
	}
	for path, want := range map[string]int{"/nothing": 404, "/api/nothing": 404, "/api/runners/x/activity": 404, "/api/runners/x/v1/models": 404,
		"/api/usage?from=9&to=3": 400, "/api/usage?step=2m": 400, "/api/usage?x=1": 400, "/api/usage?from=yesterday": 400, "/api/gpu?x=1": 400,
		"/api/runners/x/activity?limit=0": 400, "/studio": 404, "//api/gpu": 404, "/api/../metrics": 404} {
		if status, body := get(t, m.url+path); status != want || !strings.Contains(body, `"error":{`) {
			t.Errorf("%s: %d, want %d: %.200s", path, status, want, body)
		}
	}
	for _, c := range [][2]string{{"POST", "/api/gpu"}, {"POST", "/api/gpu/stream"}, {"DELETE", "/api/gpu/stream"}} {
		res := do(t, c[0], m.url+c[1], "")
		res.Body.Close()
		if res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%v: %d %s", c, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}

// TestAccess: the rows of the table for each kind of path, and pages of other sites.
func TestAccess(t *testing.T) {
	open, keyed, off := start(t), start(t, "--api-key", "sesame", "--metrics-auth", "on"), start(t, "--metrics-auth", "off")
	proxied := start(t, "--api-key", "sesame", "--trusted-proxy", "10.0.0.0/8")
	far := []string{"X-Forwarded-For", "192.0.2.1"}
	with := func(h ...string) []string { return append(h, "Authorization", "Bearer sesame") }
	for _, c := range []struct {
		m      *running
		method string
		path   string
		header []string
		want   int
	}{
		{open, "GET", "/api/gpu", nil, 200},
		{open, "GET", "/api/gpu", far, 401},
		{open, "GET", "/metrics", far, 401},
		{open, "GET", "/healthz", far, 200},
		{open, "GET", "/", far, 200},
		{keyed, "GET", "/api/runners", nil, 200},
		{keyed, "GET", "/api/runners", far, 401},
		{keyed, "GET", "/api/runners", with(far...), 200},
		{keyed, "GET", "/metrics", nil, 401},
		{keyed, "GET", "/metrics", with(), 200},
		{off, "GET", "/metrics", far, 200},
		{off, "GET", "/api/gpu", far, 401},
		{proxied, "GET", "/api/gpu", nil, 401},
		{proxied, "GET", "/api/gpu", with("Host", "gpu.example.com"), 200},
		// A name of another site that means this machine.
		{open, "GET", "/api/gpu", []string{"Host", "evil.example:11500"}, 401},
		{open, "GET", "/metrics", []string{"Host", "evil.example"}, 401},
		{open, "GET", "/api/gpu", []string{"Host", "evil.example", "Authorization", "Bearer x"}, 401},
		{keyed, "GET", "/api/gpu", []string{"Host", "evil.example", "Authorization", "Bearer x"}, 401},
		{keyed, "GET", "/api/gpu", with("Host", "gpu.example.com"), 200},
		{off, "GET", "/metrics", []string{"Host", "gpu.example.com"}, 200},
		{open, "GET", "/", []string{"Host", "gpu.example.com"}, 200},
		{open, "GET", "/api/gpu", []string{"Host", "LOCALHOST:11500"}, 200},
		{open, "GET", "/api/gpu", []string{"Host", "[::1]:11500"}, 200},
		{open, "GET", "/api/gpu", []string{"Host", "localhost.evil.example"}, 401},
		// Pages of other sites.
		{open, "GET", "/api/gpu/stream", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{open, "GET", "/api/runners", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{open, "GET", "/api/runners", []string{"Origin", "http://127.0.0.1:3000"}, 403},
		{open, "GET", "/api/runners", []string{"Origin", "null"}, 403},
		{open, "GET", "/api/runners", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{open, "GET", "/", []string{"Sec-Fetch-Site", "cross-site"}, 200},
		{open, "POST", "/api/runners/x/v1/chat/completions", []string{"Origin", "http://evil.example"}, 403},
		{open, "POST", "/api/runners/x/v1/chat/completions", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{open, "POST", "/api/runners/x/v1/chat/completions", nil, 404},
	} {
		res := do(t, c.method, c.m.url+c.path, "", c.header...)
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %s %v: %d, want %d", c.method, c.path, c.header, res.StatusCode, c.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--metrics-auth on", "--api-key"}, {"--metrics-auth yes", "metrics-auth"}, {"--trusted-proxy 10.0.0.1", "trusted-proxy"},
		{"--runner ftp://x", "no address"}, {"--runner http://u:p@h", "--runner-key"}, {"--runner http://h/path", "alone"}, {"--runner http://h?x=1", "alone"},
		{"--runner //h", "no address"}, {"--runner http://127.0.0.1:5 --runner http://localhost:5", "twice"},
		{"--probe 1-70000", "ports"}, {"--probe 5-4", "ports"}, {"--probe 1-100", "at most 64"}, {"--log-level loud", "log-level"}, {"stray", "stray"},
	} {
		if _, err := parseFlags(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	c, err := parseFlags([]string{"--runner", "http://[::1]:7", "--runner", "https://h", "--runner-key", "k", "--data", "d"})
	if err != nil {
		t.Fatal(err)
	}
	if c.addr != "127.0.0.1:11500" || c.probe != (portRange{11540, 11559}) || len(c.runners) != 2 || c.runners[0].id != "--1-7" || c.runners[1].url != "https://h:443" || c.runners[1].key != "k" {
		t.Errorf("%+v %+v", c, c.runners)
	}
}

// TestZone: an address of one link can be asked.
func TestZone(t *testing.T) {
	to, err := parseTarget("http://[FE80::1%25eTh0]:7", "")
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("GET", to.url+"/healthz", nil)
	if err != nil || req.URL.Hostname() != "fe80::1%eTh0" || to.host != "[fe80::1%eTh0]:7" {
		t.Errorf("%+v %v", to, err)
	}
}

// TestOneManager: a history is open once.
func TestOneManager(t *testing.T) {
	dir := t.TempDir()
	start(t, "--data", dir)
	c, err := parseFlags([]string{"--addr", "127.0.0.1:0", "--data", dir, "--probe", "off"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "is a manager running") {
		t.Errorf("a second manager: %v", err)
	}
}
