package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/paddock-go/paddock/metrics"
)

// TestHostileAnswers: what a runner may not say.
func TestHostileAnswers(t *testing.T) {
	good := func() metrics.Rollups {
		c := fakeRequest{n: 1}
		var counts metrics.RollupCounts
		c.addTo(&counts)
		return metrics.Rollups{Run: metrics.Run{ID: "r", Start: 1}, From: 100, To: 200, Step: 10, Bounds: fakeBounds,
			Series: []metrics.RollupSeries{{Operation: "chat", Origin: "live", Model: "m", Slots: []metrics.RollupSlot{{Start: 110, RollupCounts: counts}, {Start: 120, RollupCounts: counts}}}},
			Models: []metrics.RollupModel{{Model: "m", Slots: []metrics.RollupModelSlot{{Start: 130}}}}}
	}
	for name, spoil := range map[string]func(*metrics.Rollups){
		"":                  func(*metrics.Rollups) {},
		"no run":            func(r *metrics.Rollups) { r.ID = "" },
		"odd run":           func(r *metrics.Rollups) { r.ID = "../x" },
		"long run":          func(r *metrics.Rollups) { r.ID = strings.Repeat("x", 65) },
		"no start":          func(r *metrics.Rollups) { r.Run.Start = -1 },
		"other step":        func(r *metrics.Rollups) { r.Step = 60 },
		"backwards":         func(r *metrics.Rollups) { r.From, r.To = r.To, r.From },
		"off the grid":      func(r *metrics.Rollups) { r.To = 205 },
		"far":               func(r *metrics.Rollups) { r.To = math.MaxInt64 / 10 * 10 },
		"shift":             func(r *metrics.Rollups) { r.Shift = math.MinInt64 },
		"slot before":       func(r *metrics.Rollups) { r.Series[0].Slots[0].Start = 90 },
		"slot after":        func(r *metrics.Rollups) { r.Series[0].Slots[1].Start = 200 },
		"slot off":          func(r *metrics.Rollups) { r.Series[0].Slots[1].Start = 123 },
		"slot twice":        func(r *metrics.Rollups) { r.Series[0].Slots[1].Start = 110 },
		"series twice":      func(r *metrics.Rollups) { r.Series = append(r.Series, r.Series[0]) },
		"operation":         func(r *metrics.Rollups) { r.Series[0].Operation = "dance" },
		"origin":            func(r *metrics.Rollups) { r.Series[0].Origin = "mars" },
		"long model":        func(r *metrics.Rollups) { r.Series[0].Model = strings.Repeat("m", 300) },
		"requests":          func(r *metrics.Rollups) { r.Series[0].Slots[0].Requests = 9 },
		"huge count":        func(r *metrics.Rollups) { r.Series[0].Slots[0].PromptTokens = math.MaxUint64 },
		"buckets":           func(r *metrics.Rollups) { r.Series[0].Slots[0].Duration.Counts = []uint64{1} },
		"negative sum":      func(r *metrics.Rollups) { r.Series[0].Slots[0].Duration.Sum = -1 },
		"bounds":            func(r *metrics.Rollups) { r.Bounds.Duration = make([]float64, maxBuckets) },
		"unsorted":          func(r *metrics.Rollups) { r.Bounds.Duration = []float64{2, 1} },
		"many series":       func(r *metrics.Rollups) { r.Series = make([]metrics.RollupSeries, maxSeries+1) },
		"many models":       func(r *metrics.Rollups) { r.Models = make([]metrics.RollupModel, maxSeries+1) },
		"a model off":       func(r *metrics.Rollups) { r.Models[0].Slots[0].Start = 131 },
		"model's slot late": func(r *metrics.Rollups) { r.Models[0].Slots[0].Start = 300 },
	} {
		r := good()
		spoil(&r)
		body, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := parseRollups(body, &grains[0]); (err == nil) != (name == "") || err == nil && len(a.puts) != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := `{"run_id":"r","run_start":1,"step":10,"from":0,"to":1000000,"series":[{"gen_ai_operation_name":"chat","origin":"live","slots":[` + strings.Repeat("{},", maxAnswerSlots) + `{}]}]}`
	if _, err := parseRollups([]byte(many), &grains[0]); !errors.Is(err, errTooMuch) {
		t.Errorf("many slots: %v", err)
	}

	event := `{"seq":%d,"request_id":"%s"}`
	for _, c := range []struct {
		name, body string
		since      uint64
		first, ok  bool
	}{
		{"first", `{"run_id":"r","run_start":1,"next":6,"dropped":0,"events":[` + fmt.Sprintf(event, 5, "a") + `]}`, 0, true, true},
		{"next", `{"run_id":"r","run_start":1,"next":6,"dropped":2,"events":[` + fmt.Sprintf(event, 5, "a") + `]}`, 3, false, true},
		{"lost without saying so", `{"run_id":"r","run_start":1,"next":6,"dropped":1,"events":[` + fmt.Sprintf(event, 5, "a") + `]}`, 3, false, false},
		{"going back", `{"run_id":"r","run_start":1,"next":2,"dropped":0,"events":[]}`, 3, false, false},
		{"other number", `{"run_id":"r","run_start":1,"next":6,"dropped":2,"events":[` + fmt.Sprintf(event, 4, "a") + `]}`, 3, false, false},
		{"more than its end", `{"run_id":"r","run_start":1,"next":0,"dropped":0,"events":[` + fmt.Sprintf(event, 0, "a") + `]}`, 0, true, false},
		{"long text", `{"run_id":"r","run_start":1,"next":6,"dropped":2,"events":[` + fmt.Sprintf(event, 5, strings.Repeat("x", 300)) + `]}`, 3, false, false},
		{"more than asked", `{"run_id":"r","run_start":1,"next":9,"dropped":0,"events":[{},{},{},{}]}`, 5, false, false},
		{"huge", `{"run_id":"r","run_start":1,"next":18446744073709551615,"dropped":18446744073709551612,"events":[]}`, 3, false, false},
		{"nothing", `null`, 0, true, false},
	} {
		if _, err := parseEvents([]byte(c.body), c.since, c.first, 3); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestNothingPanics: whatever a runner answers, and whatever a stored value is.
func TestNothingPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "bytes")
		text := rapid.StringMatching(`[\[\]{}:,"0-9a-z_\-]{0,60}`).Draw(t, "text")
		parseCounts(b)
		parseEngine(b)
		parseSlotKey(b)
		for _, body := range [][]byte{b, []byte(text)} {
			parseStats(body)
			parseRollups(body, &grains[0])
			parseEvents(body, 3, false, 5)
		}
	})
}

// TestCountsRoundTrip: what is stored is what is read.
func TestCountsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c metrics.RollupCounts
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			fakeRequest{n: rapid.Uint64Range(0, 1<<40).Draw(t, "tokens")}.addTo(&c)
		}
		got, ok := parseCounts(appendCounts(nil, &c))
		if !ok || fmt.Sprint(got) != fmt.Sprint(c) {
			t.Fatalf("%v, was %v", got, c)
		}
		id := seriesID{uint8(rapid.IntRange(0, 4).Draw(t, "op")), 2, rapid.String().Draw(t, "model")}
		if start, s, ok := parseSlotKey(slotKey(1234567890, id)); !ok || start != 1234567890 || s != id {
			t.Fatalf("%d %v %v", start, s, ok)
		}
	})
}

// TestDaysOfHistory: three days of one series that is never idle, read every minute: what is kept is what the grains say, the file doesn't
// grow after the first day, and a slot of each age is still right.
func TestDaysOfHistory(t *testing.T) {
	now := int64(1_700_000_000) / 3600 * 3600
	h, err := openHistory(filepath.Join(t.TempDir(), "h"), func() time.Time { return time.Unix(now, 0) })
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	h.db.NoSync = true
	begin := now
	id := seriesID{0, 0, "m"}
	slot := func(g, n int64) []byte {
		var c metrics.RollupCounts
		for range n {
			fakeRequest{n: 1}.addTo(&c)
		}
		return appendCounts(nil, &c)
	}
	days := int64(3)
	if testing.Short() {
		days = 2
	}
	var size int64
	for ; now < begin+days*86400; now += 60 {
		l := &look{runner: "x", run: metrics.Run{ID: "r", Start: float64(begin)}, at: now * 1000, full: true}
		for g := range grains {
			step := grains[g].step
			a := &rollupAnswer{run: l.run, bounds: fakeBounds, from: (now - 60) / step * step, to: (now/step + 1) * step}
			for at := max(a.from, begin); at < a.to; at += step {
				a.puts = append(a.puts, put{slotKey(at, id), slot(step, min(step, now-at)/10)})
			}
			l.rollups[g] = a
		}
		if err := h.take(l); err != nil {
			t.Fatal(err)
		}
		if now%3600 == 0 {
			if err := h.expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if now == begin+86400+7200 {
			size = dbSize(t, h)
		}
	}
	if err := h.expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if grown := dbSize(t, h); days > 2 && grown > size+size/4 {
		t.Errorf("the file grew from %d to %d bytes after the first day", size, grown)
	}
	for g, want := range [numGrains]int64{360, 1440, days * 24} {
		u, err := h.usage(usageQuery{from: 0, to: now + 1, grain: g})
		if err != nil {
			t.Fatal(err)
		}
		var slots, requests int64
		for _, s := range u.Series {
			for _, sl := range s.Slots {
				slots++
				requests += int64(sl.Requests)
				if sl.Start < now-60-grains[g].step && int64(sl.Requests) != grains[g].step/10 {
					t.Errorf("%s: the slot of %d has %d requests", grains[g].name, sl.Start, sl.Requests)
				}
			}
		}
		if slots < want-8 || slots > want+2 {
			t.Errorf("%s: %d slots, want about %d", grains[g].name, slots, want)
		}
	}
	// 90 days later nothing is left, the run included.
	now += 91 * 86400
	if err := h.expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.run("r"); err != nil || r.Runner != "" {
		t.Errorf("the run is still there: %+v %v", r, err)
	}
}

func dbSize(t *testing.T, h *history) (n int64) {
	t.Helper()
	if err := h.view(func(tx *bbolt.Tx) error { n = tx.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
