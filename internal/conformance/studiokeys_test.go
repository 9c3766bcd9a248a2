package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press sends keys to what has the focus.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// focused is the focus: what has it, and whether it is seen to have it.
const focused = `(() => {
	const e = document.activeElement;
	const ring = (x) => { const s = getComputedStyle(x); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0; };
	const box = e.getBoundingClientRect();
	return {name: e.id || e.closest("[id]")?.id + " " + (e.className || e.tagName.toLowerCase()) + " " + (e.value ?? ""), ring: ring(e) || (e.nextElementSibling !== null && ring(e.nextElementSibling)),
		seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight};
})()`

// TestStudioKeyboard: everything can be reached and used with keys alone, what has the
// focus is seen to, and nothing is without a name.
func TestStudioKeyboard(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	f.set(func(f *fakeRunner) { f.mode, f.name = "ready", "demo" })
	f.record()
	b := openTab(t, 1280, 900, false)
	b.motion("reduce") // so that what is scrolled to is there at once
	b.open(f.url, "ready")
	b.until("studio.source.events.length === 1 && !document.getElementById('chat-send').disabled && document.getElementById('facts-body').children.length > 8")

	// Forward through the whole page.
	var walk []string
	for range 60 {
		b.press(kb.Tab)
		at := eval[struct {
			Name       string
			Ring, Seen bool
		}](b, focused)
		if strings.HasPrefix(at.Name, "undefined body") {
			break
		}
		if !at.Ring || !at.Seen {
			t.Errorf("%q has the focus: a ring %v, on the screen %v", at.Name, at.Ring, at.Seen)
		}
		walk = append(walk, strings.TrimSpace(at.Name))
	}
	if len(walk) < 20 || !strings.Contains(walk[0], "skip") || !strings.Contains(walk[1], "skip") {
		t.Fatalf("the walk is %q", walk)
	}
	at := 0
	for _, want := range []string{"origin", "range  live", "key-button", "theme-button", "throughput", "ttft", "tpot", "duration", "kv", "prefix", "queue", "activity", "transcript", "chat-input", "chat-send"} {
		i := slices.IndexFunc(walk[at:], func(s string) bool { return strings.HasPrefix(s, strings.Fields(want)[0]) })
		if i < 0 {
			t.Errorf("%s isn't reached after %q: %q", want, walk[max(0, at-1)], walk)
			continue
		}
		at += i
	}

	// The links at the top go where they say.
	for i, id := range []string{"instruments", "chat"} {
		eval[any](b, fmt.Sprintf("document.querySelectorAll('.skip')[%d].focus()", i))
		b.press(kb.Enter)
		b.until(fmt.Sprintf("document.activeElement.id === %q", id))
	}

	// A chart tells its values to who moves through it.
	eval[any](b, "document.querySelector('#duration .plot').focus()")
	b.until("studio.charts.all.duration.data.columns[0].some((v) => v !== null)")
	b.press(kb.End, kb.ArrowLeft)
	b.until("/^\\d\\d:\\d\\d:\\d\\d: p50 .*, p95 .*, p99 /.test(document.getElementById('readout').textContent)")
	b.press(kb.Escape)
	b.until("document.querySelector('#duration .when').textContent === 'newest'")

	// The range, by its arrow keys.
	eval[any](b, "document.querySelector('input[name=range]:checked').focus()")
	b.press(kb.ArrowRight)
	b.until("studio.source.rangeName === 'hour'")

	// The dialog opens, closes, and gives the focus back.
	eval[any](b, "document.getElementById('key-button').focus()")
	b.press(kb.Enter)
	b.until("document.getElementById('key-dialog').open && document.activeElement.id === 'key-input'")
	b.press(kb.Escape)
	b.until("!document.getElementById('key-dialog').open && document.activeElement.id === 'key-button'")

	// The theme: the system's, light, dark, and kept.
	ground := "getComputedStyle(document.documentElement).backgroundColor"
	light := eval[string](b, ground)
	eval[any](b, "document.getElementById('theme-button').focus()")
	b.press(" ", " ")
	b.until("document.documentElement.dataset.theme === 'dark' && document.getElementById('theme-button').textContent === 'Theme: dark'")
	if dark := eval[string](b, ground); dark == light {
		t.Errorf("the ground is %s in both themes", dark)
	}
	b.run(chromedp.Reload())
	b.until("document.documentElement.dataset.theme === 'dark' && document.getElementById('status').dataset.state === 'ready'")
	eval[any](b, "document.getElementById('theme-button').click()")
	b.until("document.documentElement.dataset.theme === undefined && localStorage.length === 0")

	// Shift and Enter makes a line, Enter sends.
	b.until("!document.getElementById('chat-send').disabled")
	eval[any](b, "document.getElementById('chat-input').focus()")
	b.press("a")
	b.run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.press("b", kb.Enter)
	b.until("document.querySelectorAll('.measured').length === 1")
	if said := eval[string](b, "document.querySelector('.msg.user .text').textContent"); said != "a\nb" {
		t.Errorf("what was sent is %q", said)
	}

	nameless(t, b)
	if c := b.complaints(); len(c) != 0 {
		t.Errorf("the page complains of %q", c)
	}
}

// nameless: what can be used, and what is drawn, has a name for who doesn't see it.
func nameless(t *testing.T, b *tab) {
	t.Helper()
	named := map[string]int{}
	for _, n := range tell(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		var role, name string
		if err := json.Unmarshal(n.Role.Value, &role); err != nil {
			t.Fatal(err)
		}
		if n.Name != nil && len(n.Name.Value) > 0 {
			if err := json.Unmarshal(n.Name.Value, &name); err != nil {
				t.Fatal(err)
			}
		}
		switch role {
		case "button", "link", "textbox", "combobox", "radio", "spinbutton", "image", "log", "region", "complementary", "navigation", "heading":
			if named[role]++; strings.TrimSpace(name) == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for role, least := range map[string]int{"button": 10, "combobox": 1, "radio": 4, "textbox": 1, "image": 7, "region": 8, "heading": 8, "log": 1} {
		if named[role] < least {
			t.Errorf("%d of role %s, want at least %d: %v", named[role], role, least, named)
		}
	}
}

// motion sets how much motion the reader wants.
func (b *tab) motion(want string) {
	b.t.Helper()
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: want}}})
}

// TestStudioReducedMotion: who wants less motion has none.
func TestStudioReducedMotion(t *testing.T) {
	chromium(t)
	f := newFakeRunner(t)
	f.set(func(f *fakeRunner) { f.mode, f.name = "ready", "demo" })
	b := openTab(t, 900, 800, false)
	for want, moves := range map[string]bool{"no-preference": true, "reduce": false} {
		b.motion(want)
		b.open(f.url, "ready")
		got := eval[bool](b, `getComputedStyle(document.documentElement).scrollBehavior === "smooth" || [...document.querySelectorAll("*")].some((e) => { const s = getComputedStyle(e); return s.animationName !== "none" || s.transitionDuration.split(",").some((d) => parseFloat(d) > 0); })`)
		if got != moves {
			t.Errorf("%s: the page moves: %v", want, got)
		}
	}
}
