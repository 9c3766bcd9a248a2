package studio

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// ask sends one request, with headers as name, value.
func ask(h http.Handler, method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "\r\n\r\n")
	return text
}

var reference = regexp.MustCompile(`(?:href|src)="([^"#]+)"`)

// TestPage: the page names files that are there, is asked for each time, while they are kept for good, and lets a browser do nothing
// that it needn't.
func TestPage(t *testing.T) {
	h := Handler(Options{})
	res := ask(h, "GET", "/")
	page := body(t, res)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || res.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	refs := reference.FindAllStringSubmatch(page, -1)
	if len(refs) < 8 {
		t.Fatalf("the page refers to %d files: %s", len(refs), page)
	}
	for _, m := range refs {
		if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], ":") {
			t.Errorf("%s isn't relative to the page", m[1])
		}
		res := ask(h, "GET", "/"+m[1])
		if res.StatusCode != 200 || res.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d %v", m[1], res.StatusCode, res.Header)
		}
		if want := contentTypes[path.Ext(m[1])]; res.Header.Get("Content-Type") != want {
			t.Errorf("%s is %s, want %s", m[1], res.Header.Get("Content-Type"), want)
		}
	}
	if !strings.Contains(page, `data-role="runner"`) || strings.Contains(page, "@") {
		t.Error("the page isn't filled in")
	}
	if inline := regexp.MustCompile(`(?i)<style|<script[^>]*>[^<]|\son\w+=|\sstyle=|javascript:`).FindString(page); inline != "" {
		t.Errorf("the policy forbids what the page has: %s", inline)
	}
}

// TestHeaders: every answer has them, refusals too.
func TestHeaders(t *testing.T) {
	h := Handler(Options{})
	for _, path := range []string{"/", "/studio/none", firstAsset(t, h)} {
		res := ask(h, "GET", path)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		csp := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp+";", part+";") {
				t.Errorf("%s: the policy %q lacks %s", path, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
			t.Errorf("the policy %q lets in what it shouldn't", csp)
		}
	}
}

func firstAsset(t *testing.T, h http.Handler) string {
	t.Helper()
	m := reference.FindStringSubmatch(body(t, ask(h, "GET", "/")))
	if m == nil {
		t.Fatal("the page refers to nothing")
	}
	return "/" + m[1]
}

// TestCaching: what a browser has needn't be sent again; HEAD says how much it is; the name changes with the files.
func TestCaching(t *testing.T) {
	h := Handler(Options{})
	for _, path := range []string{"/", firstAsset(t, h)} {
		res := ask(h, "GET", path)
		tag, text := res.Header.Get("ETag"), body(t, res)
		if again := ask(h, "GET", path, "If-None-Match", tag); tag == "" || again.StatusCode != 304 || again.ContentLength > 0 {
			t.Errorf("%s with its tag %s: %d", path, tag, again.StatusCode)
		}
		if other := ask(h, "GET", path, "If-None-Match", `"other"`); other.StatusCode != 200 {
			t.Errorf("%s with another tag: %d", path, other.StatusCode)
		}
		if head := ask(h, "HEAD", path); head.StatusCode != 200 || head.ContentLength != int64(len(text)) {
			t.Errorf("HEAD %s: %d, %d bytes of %d", path, head.StatusCode, head.ContentLength, len(text))
		}
	}
	if ask(Handler(Options{Manager: true}), "GET", "/").Header.Get("ETag") == ask(h, "GET", "/").Header.Get("ETag") {
		t.Error("two pages have one tag")
	}
}

func TestRefusals(t *testing.T) {
	h := Handler(Options{})
	asset := firstAsset(t, h)
	dir := asset[:strings.Index(asset[len("/studio/"):], "/")+len("/studio/")]
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/studio/", 404}, {"GET", dir, 404}, {"GET", dir + "/", 404}, {"GET", "/index.html", 404}, {"GET", dir + "/index.html", 404},
		{"GET", dir + "/js/../js/main.js", 404}, {"GET", "/studio/0000000000000000/js/main.js", 404}, {"GET", "/v1/models", 404},
		{"POST", "/", 405}, {"DELETE", asset, 405}, {"POST", "/studio/none", 404},
	} {
		res := ask(h, c.method, c.path)
		if res.StatusCode != c.want || res.Header.Get("Content-Type") != "application/json" || !json.Valid([]byte(body(t, res))) {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, res.StatusCode, res.Header.Get("Content-Type"), c.want)
		}
		if c.want == 405 && res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, res.Header.Get("Allow"))
		}
	}
}

// TestOptions: what the page says of its server, and that an address can't be more than that.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o     Options
		valid bool
		has   string
	}{
		{Options{}, true, `data-role="runner" data-manager-url=""`},
		{Options{Manager: true}, true, `data-role="manager" data-manager-url=""`},
		{Options{ManagerURL: "http://127.0.0.1:11500/"}, true, `data-manager-url="http://127.0.0.1:11500/"`},
		{Options{ManagerURL: `https://host/"><script>`}, true, `data-manager-url="https://host/&#34;&gt;&lt;script&gt;"`},
		{Options{ManagerURL: "javascript:alert(1)"}, false, `data-manager-url=""`},
		{Options{ManagerURL: "//host/"}, false, `data-manager-url=""`},
		{Options{ManagerURL: "http:///x"}, false, `data-manager-url=""`},
		{Options{ManagerURL: "http://user:secret@host/"}, false, `data-manager-url=""`},
		{Options{ManagerURL: "http://%zz"}, false, `data-manager-url=""`},
	} {
		if err := c.o.Validate(); (err == nil) != c.valid || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", c.o, err)
		}
		if page := body(t, ask(Handler(c.o), "GET", "/")); !strings.Contains(page, c.has) {
			t.Errorf("%+v: the page lacks %s", c.o, c.has)
		}
	}
}

// own are the embedded files that are ours.
func own(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	contents, _ := readFiles()
	for name, text := range contents {
		if !strings.HasPrefix(name, "vendor/") {
			out[name] = string(text)
		}
	}
	if len(out) < 15 {
		t.Fatalf("only %d files", len(out))
	}
	return out
}

// TestModules: every import is of a file that is there, every file is imported, no text becomes markup, nothing comes from elsewhere,
// and a file does one job.
func TestModules(t *testing.T) {
	files := own(t)
	imports := regexp.MustCompile(`(?m)^import .*"(.+)";$`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|createContextualFragment|DOMParser|setHTML|srcdoc`)
	elsewhere := regexp.MustCompile(`https?://[^\s"'` + "`" + `)]+`)
	imported := map[string]bool{"js/main.js": true, "js/early.js": true}
	for name, text := range files {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			target := path.Join(path.Dir(name), m[1])
			imported[target] = true
			if _, ok := files[target]; !ok || !strings.HasPrefix(m[1], "./") {
				t.Errorf("%s imports %s", name, m[1])
			}
		}
		if bad := markup.FindString(text); bad != "" {
			t.Errorf("%s has %s: text from models or runners must stay text", name, bad)
		}
		for _, u := range elsewhere.FindAllString(text, -1) {
			if u != "http://www.w3.org/2000/svg" && u != "http://${location.hostname}:11500/" {
				t.Errorf("%s names %s", name, u)
			}
		}
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s has %d lines: split it", name, n)
		}
	}
	for name := range files {
		if strings.HasSuffix(name, ".js") && !imported[name] {
			t.Errorf("nobody imports %s", name)
		}
	}
}

// TestVendored: what others wrote is there as they gave it, with its licence, its version and where it is from.
func TestVendored(t *testing.T) {
	read := func(name string) string {
		b, err := fs.ReadFile(files, "web/vendor/"+name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	note := read("VENDOR")
	version := regexp.MustCompile(`uPlot (\d+\.\d+\.\d+) \(MIT`).FindStringSubmatch(note)
	if version == nil || !strings.Contains(read("uplot/uPlot.iife.min.js"), "(v"+version[1]+")") {
		t.Errorf("the note's version isn't the file's: %s", note)
	}
	if l := read("uplot/LICENSE"); !strings.Contains(l, "MIT License") || !strings.Contains(l, "Copyright (c)") {
		t.Errorf("the licence is %.100s", l)
	}
	h := Handler(Options{})
	_, v := readFiles()
	if res := ask(h, "GET", "/studio/"+v+"/vendor/uplot/LICENSE"); res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the licence isn't served: %d", res.StatusCode)
	}
}
