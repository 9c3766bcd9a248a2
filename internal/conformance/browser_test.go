package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium finds the browser of Debian's package. Where it is missing the test is
// skipped and says so; in CI, which installs it, that is a failure.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("chromium is not on PATH; CI installs Debian's package chromium: %v", err)
	default:
		t.Skip("chromium is not on PATH (Debian's package chromium has it): skipped")
	}
	return ""
}

// tab is a page in a browser of its own, with what it complained of.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // console errors, exceptions, what the policy refused
}

// browserPatience is how long a page may take for anything that is waited for. It
// bounds a hang; nothing is measured by it.
const browserPatience = 90 * time.Second

// openTab starts a browser, with a fresh profile, of a size and a preference of colours.
func openTab(t *testing.T, width, height int64, dark bool) *tab {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir())}
	for _, flag := range []string{"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	all, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, end := chromedp.NewContext(all)
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		closing, done := context.WithTimeout(ctx, 20*time.Second)
		defer done()
		_ = chromedp.Cancel(closing) // the browser ends before its folder is removed
		end()
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil { // starts the browser, which lives as long as this context
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	tell(b, log.Enable, cdp.Empty{})
	tell(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return b
}

// tell gives the browser a command of its protocol.
func tell[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return r
}

// hear keeps what the page complains of.
func (b *tab) hear(event any) {
	var text string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning {
			return
		}
		text = "console:"
		for _, a := range e.Args {
			text += fmt.Sprintf(" %s%s", a.Value, a.Description)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Level != log.EntryLevelWarning {
			return
		}
		text = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, text)
}

// complaints are what the page complained of, but for what a test says it must: the
// browser itself reports each answer of an error status.
func (b *tab) complaints(but ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.faults), func(f string) bool {
		return slices.ContainsFunc(but, func(s string) bool { return strings.Contains(f, s) })
	})
}

// run does things in the page, within the patience.
func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page complains of %q", err, b.complaints())
	}
}

// open goes to an address and waits until the page shows a state of its server.
func (b *tab) open(url, state string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
	b.until(fmt.Sprintf("document.getElementById('status')?.dataset.state === %q", state))
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(browserPatience-10*time.Second)))
	if err != nil {
		b.t.Fatalf("%s: %v; the page complains of %q and reads:\n%.3000s", expression, err, b.complaints(), eval[string](b, "document.body.innerText"))
	}
}

// eval is the value of an expression; a promise is waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserPatience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v; the page complains of %q", expression, err, b.complaints())
	}
	return v
}

// shoot keeps a picture of the whole page, in the folder that PADDOCK_ARTIFACTS
// names, as NAME.png.
func (b *tab) shoot(name string) []byte {
	b.t.Helper()
	dir := os.Getenv("PADDOCK_ARTIFACTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	picture := tell(b, cdpage.CaptureScreenshot, cdpage.CaptureScreenshotParams{Format: cdpage.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true)}).Data
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return picture
}
