package conformance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// recordAnswers makes the page keep, before anything of it runs, the newest answer
// of each path below /api/ as the server gave it, and every path that was asked for.
func (b *tab) recordAnswers() {
	b.t.Helper()
	tell(b, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.answers = {}; window.asked = [];
		const real = window.fetch;
		window.fetch = async (...args) => {
			window.asked.push(String(args[0]));
			const r = await real(...args);
			const path = new URL(r.url).pathname;
			if (r.ok && path.startsWith("/api/")) r.clone().json().then((j) => { window.answers[path] = j; }, () => {});
			return r;
		};`})
}

// studioTraffic makes n requests of each kind that the page tells apart; all have
// ended when it returns.
func studioTraffic(t *testing.T, target string, n int) {
	t.Helper()
	system := strings.Repeat("Answer in one sentence, as the manual does. ", 6)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for _, c := range []struct {
				c    call
				want int
			}{
				{call{path: "/v1/chat/completions", id: fmt.Sprint("live-", i), body: fmt.Sprintf(`{"model":"demo","stream":true,"ignore_eos":true,"max_tokens":%d,"messages":[{"role":"system","content":%q},{"role":"user","content":"Question %d"}]}`, 20+10*i, system, i)}, 200},
				{call{path: "/v1/chat/completions", id: fmt.Sprint("batch-", i), origin: "batch", body: fmt.Sprintf(`{"model":"demo","max_tokens":30,"ignore_eos":true,"messages":[{"role":"user","content":"Batch %d"}]}`, i)}, 200},
				{call{path: "/v1/chat/completions", id: fmt.Sprint("wrong-", i), body: `{"model":"other","messages":[{"role":"user","content":"x"}]}`}, 404},
			} {
				if status, reply, err := c.c.do(t.Context(), target); err != nil || status != c.want {
					t.Errorf("%s: status %d, %v: %.200s", c.c.id, status, err, reply)
				}
			}
		})
	}
	wg.Wait()
}

// tile is the exact number of a tile of the page.
func (b *tab) tile(name string) float64 {
	b.t.Helper()
	v, err := strconv.ParseFloat(eval[string](b, fmt.Sprintf("document.querySelector('#tile-%s data').value", name)), 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// TestStudio: the real server with traffic, and its page in a real browser. Charts
// draw what the API says, numbers are the API's to the last digit, a streamed chat
// completes and says what the API says, and nothing is complained of.
func TestStudio(t *testing.T) {
	chromium(t)
	target := startServer(t, "--kv-pages", "400", "--manager-url", "http://127.0.0.1:11500/")
	b := openTab(t, 1440, 1000, false)
	b.recordAnswers()
	b.open("http://"+target+"/", "ready")
	studioTraffic(t, target, 12)
	b.until("studio.source.events.length === 36")

	for _, part := range []struct {
		name string
		test func(*testing.T, *tab, string)
	}{
		{"numbers", studioNumbers}, {"percentiles", studioPercentiles}, {"activity", studioActivity}, {"charts", studioCharts},
		{"chat", studioChat}, {"links", studioLinks}, {"hidden", studioHidden},
	} {
		t.Run(part.name, func(t *testing.T) {
			whole := b.t
			b.t = t
			defer func() { b.t = whole }()
			part.test(t, b, target)
		})
	}
	b.shoot("studio-wide-light")
	if c := b.complaints(); len(c) != 0 {
		t.Errorf("the page complains of %q", c)
	}
	// The other forms. Every one has the traffic's numbers, fits, and asks the model.
	for _, c := range []struct {
		name   string
		width  int64
		dark   bool
		ground string
	}{{"studio-wide-dark", 1440, true, "rgb(14, 19, 18)"}, {"studio-narrow-light", 380, false, "rgb(241, 244, 242)"}, {"studio-narrow-dark", 380, true, "rgb(14, 19, 18)"}} {
		t.Run(c.name, func(t *testing.T) {
			b := openTab(t, c.width, 900, c.dark)
			b.open("http://"+target+"/", "ready")
			b.ask("What does paddock_kv_pages_used count?")
			b.until("studio.charts.all.prefix.data.columns[0]?.some((v) => v !== null) && document.querySelectorAll('#activity-body tbody tr').length > 30")
			if w := eval[int64](b, "document.documentElement.scrollWidth"); w > c.width {
				t.Errorf("the page is %d wide on a screen of %d: %s", w, c.width, eval[string](b, widest))
			}
			if g := eval[string](b, "getComputedStyle(document.documentElement).backgroundColor"); g != c.ground {
				t.Errorf("the ground is %s, want %s", g, c.ground)
			}
			eval[any](b, "document.activeElement.blur(), scrollTo(0, 0)")
			b.shoot(c.name)
			if c := b.complaints(); len(c) != 0 {
				t.Errorf("the page complains of %q", c)
			}
		})
	}
}

// widest names what sticks out of a narrow page.
const widest = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.tagName + "#" + e.id + "." + e.className).join(" ")`

// ask sends a text in the chat box and waits for the answer's end.
func (b *tab) ask(text string) {
	b.t.Helper()
	before := eval[int](b, "document.querySelectorAll('.measured').length")
	b.until("!document.getElementById('chat-send').disabled")
	b.run(chromedp.SendKeys(chromedp.CSS("#chat-input"), text+"\r"))
	b.until(fmt.Sprintf("document.querySelectorAll('.measured').length === %d", before+1))
}

// studioNumbers: each tile, the outcomes and the facts are the API's.
func studioNumbers(t *testing.T, b *tab, target string) {
	// Rates move: the page and the answer that it has them from must agree.
	b.until(`(() => {
		const m = window.answers["/api/stats"]?.models[0];
		const tile = (n) => Number(document.querySelector("#tile-" + n + " data")?.value);
		return m && m.requests.ended === 36 && m.sequences.running === 0 && tile("running") === 0 && tile("generated") === m.rates.generated_tokens_per_s && tile("prompt") === m.rates.prompt_tokens_per_s &&
			tile("cached") === m.rates.cached_tokens_per_s && tile("requests") === m.rates.requests_per_s;
	})()`)
	var stats struct {
		Models []struct {
			Requests  struct{ Ended, Succeeded uint64 }
			Tokens    struct{ Prompt, Cached, Generated uint64 }
			Sequences struct{ Running, Waiting, Admitted uint64 }
			KV        struct {
				Used   int     `json:"pages_used"`
				Free   int     `json:"pages_free"`
				Cached int     `json:"pages_cached"`
				Total  int     `json:"pages_total"`
				Usage  float64 `json:"usage"`
			}
			Prefix struct {
				HitRate float64 `json:"hit_rate"`
				Hits    uint64
			} `json:"prefix_cache"`
			Memory map[string]int64 `json:"memory_bytes"`
		}
	}
	getJSON(t, "http://"+target+"/api/stats", &stats)
	m := stats.Models[0]
	if m.Requests.Ended != 36 || m.Prefix.Hits == 0 || m.KV.Cached == 0 {
		t.Fatalf("the traffic left %+v", m)
	}
	for name, want := range map[string]float64{"running": float64(m.Sequences.Running), "waiting": float64(m.Sequences.Waiting), "kv": m.KV.Usage, "prefix": m.Prefix.HitRate} {
		if got := b.tile(name); got != want {
			t.Errorf("the tile %s is %v, the API says %v", name, got, want)
		}
	}
	text := eval[string](b, "document.body.innerText")
	for _, want := range []string{
		comma(m.Tokens.Generated) + " in all", comma(m.Tokens.Prompt) + " in all", comma(m.Tokens.Cached) + " in all", comma(m.Requests.Ended) + " ended", "0 of 400",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't say %q:\n%.600s", want, text)
		}
	}
	if got := eval[[]float64](b, "studio.charts.all.kv.data.columns.map((c) => c.at(-1))"); fmt.Sprint(got) != fmt.Sprint([]float64{float64(m.KV.Used), float64(m.KV.Cached), float64(m.KV.Free - m.KV.Cached)}) {
		t.Errorf("KV pages are %v on the chart, the API says %+v", got, m.KV)
	}
	for name, want := range map[string]uint64{"ended": m.Requests.Ended, "succeeded": m.Requests.Succeeded, "admitted": m.Sequences.Admitted, "not found": 0} {
		if name == "not found" {
			continue
		}
		got := eval[string](b, fmt.Sprintf("[...document.querySelectorAll('#outcomes-body dt')].find((e) => e.textContent === %q).nextSibling.textContent", name))
		if got != comma(want) {
			t.Errorf("the outcome %s is %s, the API says %d", name, got, want)
		}
	}
}

// comma writes a count as the page does.
func comma(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// studioPercentiles: of one origin, whose requests are one series of the rollups, the
// page's percentiles are those that the server computed from the same buckets.
func studioPercentiles(t *testing.T, b *tab, target string) {
	eval[any](b, `(() => { const o = document.getElementById("origin"); o.value = "batch"; o.dispatchEvent(new Event("change", {bubbles: true})); })()`)
	var rollups struct {
		Series []struct {
			Origin string
			Total  struct {
				Duration, First, Per struct{ Counts []uint64 }
				Quantiles            map[string]struct{ P50, P95, P99 float64 }
			}
		}
	}
	getJSON(t, "http://"+target+"/api/rollups?"+url.Values{"step": {"10s"}}.Encode(), &rollups)
	n := 0
	for _, s := range rollups.Series {
		if s.Origin != "batch" {
			continue
		}
		for id, name := range map[string]string{"ttft": "time_to_first_token_seconds", "tpot": "time_per_output_token_seconds", "duration": "duration_seconds"} {
			n++
			want := s.Total.Quantiles[name]
			b.until(fmt.Sprintf("document.querySelector('#%s .summary tbody tr:last-child td:last-child').textContent === '12'", id))
			got := eval[[]float64](b, fmt.Sprintf("[...document.querySelectorAll('#%s .summary tbody tr:last-child data')].map((d) => Number(d.value))", id))
			if len(got) != 4 || got[0] != want.P50 || got[1] != want.P95 || got[2] != want.P99 {
				t.Errorf("%s: the page has %v, the API %+v", id, got, want)
			}
		}
	}
	if n != 3 {
		t.Errorf("the API has %d histograms of batch", n)
	}
	eval[any](b, `(() => { const o = document.getElementById("origin"); o.value = ""; o.dispatchEvent(new Event("change", {bubbles: true})); })()`)
}

// studioActivity: a row for each event, with the phases that the event has.
func studioActivity(t *testing.T, b *tab, target string) {
	b.until("document.querySelectorAll('#activity-body tbody tr').length === 36")
	var page struct{ Events []map[string]any }
	getJSON(t, "http://"+target+"/api/events?max=500", &page)
	rows := eval[map[string][]string](b, `Object.fromEntries([...document.querySelectorAll("#activity-body tbody tr")].map((r) => [r.dataset.seq, [...r.querySelectorAll("data")].map((d) => d.value)]))`)
	fields := []string{"gen_ai.usage.input_tokens", "paddock.cached_tokens", "gen_ai.usage.output_tokens", "paddock.ttft_ms", "paddock.decode_tok_s", "duration_ms", "paddock.queue_ms", "paddock.prefill_ms", "paddock.decode_ms"}
	for _, e := range page.Events {
		var want []string
		for _, f := range fields {
			if v, ok := e[f]; ok {
				want = append(want, strconv.FormatFloat(v.(float64), 'g', -1, 64))
			}
		}
		got := rows[fmt.Sprint(e["seq"])]
		for i := range got { // as JavaScript writes numbers, so as Go does
			if v, err := strconv.ParseFloat(got[i], 64); err == nil {
				got[i] = strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("event %v: the page has %v, the API %v", e["seq"], got, want)
		}
	}
	// The longest decode's bar is mostly decode.
	share := eval[float64](b, `Math.max(...[...document.querySelectorAll(".split .decode")].map((e) => e.getBoundingClientRect().width / e.parentNode.getBoundingClientRect().width))`)
	if share <= 0 || share > 1 {
		t.Errorf("the largest share of decode is %v", share)
	}
}

// studioCharts: the canvas has the series' colour where the largest value belongs.
func studioCharts(t *testing.T, b *tab, _ string) {
	b.until("Math.max(...studio.charts.all.throughput.data.columns[0]) > 0 && studio.charts.all.first.data.columns[0].some((v) => v > 0)")
	for _, chart := range []string{"throughput", "first", "perToken", "duration", "prefix"} {
		got := eval[struct {
			Points, Coloured int
			Peak, Want, Top  float64
			Rising           bool
			Label            string
		}](b, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
			const c = studio.charts.all[%q], u = c.plot, {x, columns} = c.data;
			const canvas = u.ctx.canvas, {width, height} = canvas, data = u.ctx.getImageData(0, 0, width, height).data;
			const hex = getComputedStyle(document.documentElement).getPropertyValue("--s1").trim();
			const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
			let coloured = 0, top = height;
			for (let p = 0; p < data.length; p += 4) {
				if (want.every((v, i) => Math.abs(data[p + i] - v) < 40) && data[p + 3] > 150) { coloured++; top = Math.min(top, Math.floor(p / 4 / width)); }
			}
			const inside = columns[0].filter((v, i) => v !== null && x[i] >= u.scales.x.min && x[i] <= u.scales.x.max);
			const peak = Math.max(...inside);
			done({points: inside.length, coloured, peak, top, want: u.valToPos(peak, "y", true), rising: x.every((v, i) => i === 0 || v > x[i - 1]), label: c.canvas.getAttribute("aria-label")});
		})))`, chart))
		if got.Points == 0 || got.Coloured < 4 || !got.Rising {
			t.Errorf("%s: %+v", chart, got)
		}
		if got.Top < got.Want-8 || got.Top > got.Want+8 {
			t.Errorf("%s: the line's top is at %v, its largest value %v belongs at %v", chart, got.Top, got.Peak, got.Want)
		}
		if !strings.Contains(got.Label, "at most") {
			t.Errorf("%s says %q to who doesn't see it", chart, got.Label)
		}
	}
	// What lies on each other adds up to all pages.
	if got := eval[[]float64](b, "studio.charts.all.kv.plot.data.slice(1).map((c) => c.at(-1))"); len(got) != 3 || got[0] != 400 || got[1] < got[2] {
		t.Errorf("the stacked pages end at %v of 400", got)
	}
	if n := eval[int](b, "studio.charts.all.queue.data.columns[0].filter((v) => v !== null).length"); n == 0 {
		t.Error("the queue has no points")
	}
	// The same as a table.
	b.run(chromedp.Click(chromedp.CSS("#throughput button")))
	b.until("document.querySelectorAll('#throughput tbody tr').length > 3")
	b.run(chromedp.Click(chromedp.CSS("#throughput button")))
	b.until("document.querySelector('#throughput .scroll').hidden")
	// Other ranges ask for other slots, and draw them.
	for name, step := range map[string]int{"hour": 10, "day": 60, "month": 3600, "live": 10} {
		eval[any](b, fmt.Sprintf("document.querySelector('input[name=range][value=%s]').click()", name))
		b.until(fmt.Sprintf("studio.source.rollups.range?.step === %d && studio.source.rollups.range === studio.source.range && studio.charts.all.duration.data.columns[0].some((v) => v > 0)", step))
	}
}

// studioChat: what is streamed into the page is the API's text and usage; the request
// is of the page's origin.
func studioChat(t *testing.T, b *tab, target string) {
	b.ask(question)
	_, reply, err := call{path: "/v1/chat/completions", body: fmt.Sprintf(`{"model":"demo","temperature":0,"max_tokens":256,"messages":[{"role":"user","content":%q}]}`, question)}.do(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(reply), &want); err != nil {
		t.Fatal(err)
	}
	if got := eval[string](b, "document.querySelector('.msg.assistant .text').textContent"); got != want.Choices[0].Message.Content || got == "" {
		t.Errorf("the page has %q, the API says %q", got, want.Choices[0].Message.Content)
	}
	m := eval[map[string]float64](b, "Object.fromEntries([...document.querySelectorAll('.measured [data-measured]')].map((e) => [e.dataset.measured, Number(e.firstChild.value)]))")
	if m["prompt"] != float64(want.Usage.Prompt) || m["output"] != float64(want.Usage.Completion) || !(m["ttft"] > 0) || !(m["rate"] > 0) {
		t.Errorf("measured %v, the API says %+v", m, want.Usage)
	}
	var mine []event
	for _, e := range events(t, target) {
		if e.Origin == "studio" {
			mine = append(mine, e)
		}
	}
	if len(mine) != 1 || !mine[0].Stream || mine[0].Operation != "chat" || *mine[0].Output != want.Usage.Completion {
		t.Errorf("the events of the page are %+v", mine)
	}
	// The conversation goes on: the second question has the first one before it.
	b.ask("And the free ones?")
	if u := eval[float64](b, "Number([...document.querySelectorAll('[data-measured=prompt] data')].at(-1).value)"); u <= float64(want.Usage.Prompt+want.Usage.Completion) {
		t.Errorf("the second prompt has %v tokens, the first exchange had %+v", u, want.Usage)
	}
}

func studioLinks(t *testing.T, b *tab, _ string) {
	if href := eval[string](b, "document.getElementById('manager-link').href"); href != "http://127.0.0.1:11500/" {
		t.Errorf("the manager's link is %q", href)
	}
	if !eval[bool](b, "document.getElementById('gpus').hidden") {
		t.Error("a runner's page shows GPUs")
	}
}

// studioHidden: a page that nobody sees asks nothing, and asks at once when it is
// seen again.
func studioHidden(t *testing.T, b *tab, _ string) {
	eval[any](b, `(() => {
		Object.defineProperty(document, "hidden", {configurable: true, get: () => true});
		document.dispatchEvent(new Event("visibilitychange"));
	})()`)
	n := eval[int](b, "window.asked.length")
	// As long as several of the shortest intervals; more could only hide a fault.
	eval[any](b, "new Promise((done) => setTimeout(done, 3500))")
	if now := eval[int](b, "window.asked.length"); now != n {
		t.Errorf("hidden, the page asked for %v", eval[[]string](b, fmt.Sprintf("window.asked.slice(%d)", n)))
	}
	eval[any](b, `(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); })()`)
	b.until(fmt.Sprintf("window.asked.length >= %d + 4", n))
}
