package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// state waits until the page shows a state of its server, and its words.
func (b *tab) state(state, words string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.getElementById('status').dataset.state === %q && document.getElementById('problems').textContent.includes(%q)", state, words))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

// TestStudioStates: the page says plainly what state its server is in, and comes
// back from each by itself.
func TestStudioStates(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	b := openTab(t, 1200, 900, false)
	b.open(f.url, "loading") // the page is there before the model is
	b.state("loading", "being loaded")
	f.record()
	mode := func(m string) { f.set(func(f *fakeRunner) { f.mode = m }) }
	mode("ready")
	b.state("ready", "")
	b.until("!document.getElementById('chat-send').disabled")
	mode("draining")
	b.state("draining", "takes nothing new")
	b.until("document.getElementById('chat-send').disabled")
	mode("gone")
	b.state("down", "trying again")
	mode("ready")
	b.state("ready", "")

	// A key: asked for, used, kept in this tab alone.
	mode("key")
	b.state("key", "wants a key")
	b.click("#problems button")
	b.until("document.getElementById('key-dialog').open && document.activeElement.id === 'key-input'")
	b.run(chromedp.SendKeys(chromedp.CSS("#key-input"), "wrong\r"))
	b.until("!document.getElementById('key-dialog').open")
	b.state("key", "wants a key")
	b.click("#key-button")
	b.run(chromedp.SendKeys(chromedp.CSS("#key-input"), "sesame\r"))
	b.state("ready", "")
	if s := eval[string](b, "JSON.stringify([sessionStorage.getItem('paddock-key'), localStorage.length, document.cookie])"); s != `["sesame",0,""]` {
		t.Errorf("storage has %s", s)
	}
	b.until("studio.source.events.length === 1")

	// Without metrics and events: it says so, and the chat goes on.
	mode("off")
	b.state("ready", "keeps no metrics")
	b.until("document.getElementById('activity-body').textContent.includes('keeps no events')")
	mode("ready")
	b.run(chromedp.Reload())
	b.state("ready", "")

	f.set(func(f *fakeRunner) {
		if len(f.strange) != 0 {
			t.Errorf("requests without the origin: %q", f.strange)
		}
	})
	// The browser itself reports each refusal; nothing else is wrong.
	if c := b.complaints("Failed to load resource"); len(c) != 0 {
		t.Errorf("the page complains of %q", c)
	}
}

// TestStudioHostileText: what a model or a runner says stays text, however it is cut
// in pieces, and a page with the longest of names fits a narrow screen. Stop ends
// the request; answers that fail or break off say so.
func TestStudioHostileText(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	f.set(func(f *fakeRunner) { f.mode, f.answer = "ready", "forever" })
	for range 3 {
		f.record()
	}
	b := openTab(t, 380, 800, true)
	b.open(f.url, "ready")
	b.until("studio.source.events.length === 3 && document.getElementById('facts-body').textContent.includes('<img src=x')")

	send := func(text string) {
		b.until("!document.getElementById('chat-send').disabled")
		b.run(chromedp.SendKeys(chromedp.CSS("#chat-input"), text))
		b.click("#chat-send")
	}
	last := "[...document.querySelectorAll('.msg.assistant')].at(-1)"
	send("<i>go</i>")
	b.until(fmt.Sprintf("%s?.querySelector('.text').textContent === %q", last, hostileText))
	b.click("#chat-stop")
	select {
	case <-f.ended:
	case <-time.After(browserPatience):
		t.Error("Stop did not end the request")
	}
	b.until(last + ".textContent.includes('stopped')")

	for answer, says := range map[string]string{"fault": "Failed: the engine <i>failed</i>.", "broken": "broke off", "text": ""} {
		f.set(func(f *fakeRunner) { f.answer = answer })
		n := eval[int](b, "document.querySelectorAll('.measured').length")
		send("again")
		b.until(fmt.Sprintf("document.querySelectorAll('.measured').length === %d && %s.textContent.includes(%q)", n+1, last, says))
		if got := eval[string](b, last+".querySelector('.error')?.textContent ?? ''"); (got == "") != (says == "") {
			t.Errorf("%s: the page says %q", answer, got)
		}
	}
	if s := eval[string](b, `[...document.querySelectorAll("img, iframe, body script, .msg b:not([data-measured]), .msg i, #activity-body b:not(.split-numbers b)")].map((e) => e.outerHTML).join()`); s != "" {
		t.Errorf("text became markup: %s", s)
	}
	if title := eval[string](b, "document.title"); title == "owned" || !strings.Contains(title, "<img") {
		t.Errorf("the title is %q", title)
	}
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 380 {
		t.Errorf("the page is %d wide on a screen of 380: %s", w, eval[string](b, widest))
	}
	if c := b.complaints(); len(c) != 0 {
		t.Errorf("the page complains of %q", c)
	}
}

// TestStudioModes: a model without chat is asked for completions, one that writes no
// text isn't asked.
func TestStudioModes(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	b := openTab(t, 900, 800, false)
	f.set(func(f *fakeRunner) { f.mode, f.name, f.operations = "ready", "plain", []string{"text_completion"} })
	b.open(f.url, "ready")
	b.ask("Once")
	if !f.has("POST /v1/completions") || f.has("POST /v1/chat/completions") {
		t.Error("a model without chat was not asked for a completion")
	}
	if got := eval[string](b, "document.querySelector('.msg.assistant .text').textContent"); got != hostileText {
		t.Errorf("the page has %q", got)
	}
	f.set(func(f *fakeRunner) { f.operations = []string{"embeddings", "rerank"} })
	b.open(f.url, "ready")
	b.until("document.getElementById('chat-note').textContent.includes('writes no text')")
	if !eval[bool](b, "document.getElementById('chat-send').disabled && document.getElementById('chat-input').disabled") {
		t.Error("a model that writes no text can be asked")
	}
}
