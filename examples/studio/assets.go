package studio

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var files embed.FS

// asset is one file as it is served.
type asset struct {
	body        []byte
	contentType string
	etag        string
	cache       string
}

// How long a browser may keep what. The page is asked for each time, and names its files by what is in all of them: a new program's page never
// runs with an old one's modules.
const (
	asked  = "no-cache"
	always = "public, max-age=31536000, immutable"
)

// policy lets the page run and read only what its own server has: no script or style inside the page, and text that reaches it from
// models or runners can't become either.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8", // licences and the like
}

// newAssets are all files by the path that they are served at.
//
//	/                       web/index.html, filled in
//	/studio/VERSION/...     the other files of web
func newAssets(o Options) map[string]asset {
	contents, version := readFiles()
	out := map[string]asset{}
	for name, body := range contents {
		if name != "index.html" {
			out["/studio/"+version+"/"+name] = newAsset(name, body, always)
		}
	}
	role, link := "runner", o.ManagerURL
	if o.Manager {
		role = "manager"
	}
	if o.Validate() != nil {
		link = ""
	}
	page := strings.NewReplacer("@VERSION@", version, "@ROLE@", role, "@MANAGER@", html.EscapeString(link)).Replace(string(contents["index.html"]))
	out["/"] = newAsset("index.html", []byte(page), asked)
	return out
}

// readFiles returns the embedded files by their path in web, and a name for what is in all of them.
func readFiles() (contents map[string][]byte, version string) {
	contents = map[string][]byte{}
	all := sha256.New()
	err := fs.WalkDir(files, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		all.Write([]byte(name))
		all.Write(body)
		contents[strings.TrimPrefix(name, "web/")] = body
		return err
	})
	if err != nil {
		panic(err) // what is embedded can always be read
	}
	return contents, hex.EncodeToString(all.Sum(nil))[:16]
}

func newAsset(name string, body []byte, cache string) asset {
	sum := sha256.Sum256(body)
	return asset{body: body, contentType: contentTypes[path.Ext(name)], etag: `"` + hex.EncodeToString(sum[:12]) + `"`, cache: cache}
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", a.cache)
	h.Set("ETag", a.etag)
	harden(h)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// harden says what a browser must not do with an answer.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// refuse answers with an error as JSON, in the API's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	body, _ := json.Marshal(map[string]any{"error": map[string]string{"type": "invalid_request_error", "code": code, "message": message}}) // strings always marshal
	w.Header().Set("Content-Type", "application/json")
	harden(w.Header())
	w.WriteHeader(status)
	w.Write(append(body, '\n')) // an error is the reader's having gone
}
