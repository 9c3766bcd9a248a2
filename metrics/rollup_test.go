package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustRollups(t testing.TB, r *Recorder, from, to time.Time, step time.Duration) Rollups {
	t.Helper()
	out, err := r.Rollups(from, to, step)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Requests are found in the slots of the time at which they ended, at each grain, and the totals are theirs.
func TestRollupSlots(t *testing.T) {
	clock := newTestClock() // 10:00:00
	r := clock.recorder(t, RecorderOptions{})
	var source published
	m := mustOpen(t, r, "m", &source, Chat)
	s := Snapshot{Admitted: 3, Running: 2, Waiting: [NumWaitReasons]int{1}, PagesUsed: 9, PagesFree: 1, PagesTotal: 10, PrefixQueries: 300, PrefixHits: 64}
	s.Prompt[Chat][Live], s.Cached[Chat][Live] = 300, 64
	source.publish(s)
	m.Finish(finished(Chat, Live, 3))
	clock.pass(5 * time.Second)
	r.tick(clock.Now())
	s.Running, s.PagesUsed, s.Generated[Chat][Live] = 1, 4, 7
	source.publish(s)
	fail := finished(Chat, Live, 1)
	fail.Fail = QueueFull
	m.Finish(fail)
	clock.pass(5 * time.Second) // 10:00:10
	r.tick(clock.Now())
	gone := finished(Chat, Live, 2)
	gone.Fail = Disconnect
	m.Finish(gone)
	clock.pass(61 * time.Second) // 10:01:11
	r.tick(clock.Now())
	broken := finished(Chat, Batch, 2)
	broken.Fail = EngineError
	m.Finish(broken)

	at := clockStart.Add(time.Hour).Unix()
	got := mustRollups(t, r, clockStart.Add(time.Hour), time.Time{}, 10*time.Second)
	if got.From != at || got.To != at+80 || got.Step != 10 {
		t.Errorf("from %d to %d step %d, want %d to %d step 10", got.From, got.To, got.Step, at, at+80)
	}
	if len(got.Series) != 2 || got.Series[0].Origin != "live" || got.Series[1].Origin != "batch" || got.Series[0].Model != "m" || got.Series[0].Operation != "chat" {
		t.Fatalf("series: %+v", got.Series)
	}
	slots := got.Series[0].Slots
	if len(slots) != 2 || slots[0].Start != at || slots[1].Start != at+10 {
		t.Fatalf("slots: %+v", slots)
	}
	hist := func(bucket, n uint64, sum float64) RollupHistogram {
		h := RollupHistogram{Counts: make([]uint64, 15), Sum: sum}
		if n > 0 {
			h.Counts[bucket] = n
		}
		return h
	}
	want := RollupCounts{Requests: 2, Successes: 1, ClientErrors: 1, PromptTokens: 300, CachedTokens: 64, GeneratedTokens: 7,
		Duration: hist(4, 2, 0.121+0.101), FirstToken: hist(4, 1, 0.1), PerToken: hist(0, 1, 0.01)}
	if !reflect.DeepEqual(slots[0].RollupCounts, want) {
		t.Errorf("first slot:\n got %+v\nwant %+v", slots[0].RollupCounts, want)
	}
	want = RollupCounts{Requests: 1, Disconnects: 1, Duration: hist(4, 1, 0.111), FirstToken: hist(0, 0, 0), PerToken: hist(0, 0, 0)}
	if !reflect.DeepEqual(slots[1].RollupCounts, want) {
		t.Errorf("second slot:\n got %+v\nwant %+v", slots[1].RollupCounts, want)
	}
	total := got.Series[0].Total
	want = RollupCounts{Requests: 3, Successes: 1, ClientErrors: 1, Disconnects: 1, PromptTokens: 300, CachedTokens: 64, GeneratedTokens: 7,
		Duration: hist(4, 3, 0.333), FirstToken: hist(4, 1, 0.1), PerToken: hist(0, 1, 0.01)}
	if !reflect.DeepEqual(total.RollupCounts, want) {
		t.Errorf("total:\n got %+v\nwant %+v", total.RollupCounts, want)
	}
	if q := total.Quantiles.Duration; q == nil || math.Abs(q.P50-0.12) > 1e-12 || math.Abs(q.P90-0.152) > 1e-12 ||
		math.Abs(q.P95-0.156) > 1e-12 || math.Abs(q.P99-0.1592) > 1e-12 {
		t.Errorf("quantiles of the duration: %+v", q)
	}
	if s := got.Series[1]; s.Total.ServerErrors != 1 || s.Total.Requests != 1 || s.Total.Quantiles.FirstToken != nil || s.Slots[0].Start != at+70 {
		t.Errorf("the slot in progress: %+v", s)
	}
	model := got.Models[0]
	wantModel := []RollupModelSlot{
		{at, RollupEngine{KVPagesMax: 9, RunningMax: 2, WaitingMax: 1, PrefixQueries: 300, PrefixHits: 64}},
		{at + 10, RollupEngine{KVPagesMax: 4, RunningMax: 1, WaitingMax: 1}},
		{at + 70, RollupEngine{KVPagesMax: 4, RunningMax: 1, WaitingMax: 1}},
	}
	if !model.Open || model.Model != "m" || !reflect.DeepEqual(model.Slots, wantModel) {
		t.Errorf("the engine:\n got %+v\nwant %+v", model.Slots, wantModel)
	}
	if want := (RollupEngine{KVPagesMax: 9, RunningMax: 2, WaitingMax: 1, PrefixQueries: 300, PrefixHits: 64}); model.Total != want {
		t.Errorf("the engine in total: %+v, want %+v", model.Total, want)
	}
	for _, row := range []struct {
		step  time.Duration
		slots int
		from  int64
	}{{time.Minute, 1, at}, {time.Hour, 1, at}} {
		got := mustRollups(t, r, clockStart.Add(time.Hour), time.Time{}, row.step)
		if s := got.Series[0]; len(s.Slots) != row.slots || s.Slots[0].Start != row.from || !reflect.DeepEqual(s.Total, total) {
			t.Errorf("step %v: %d slots from %d, total %+v", row.step, len(s.Slots), s.Slots[0].Start, s.Total)
		}
	}
	if !reflect.DeepEqual(got.Bounds.Duration, r.layout.ladders[hDuration].bounds) {
		t.Errorf("bounds %v", got.Bounds)
	}
}

// Whatever happens and whenever the ticks come: at each grain the slots of a series add up to what the models of its name have counted.
func TestRollupsAddUpToTheCounters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := newTestClock()
		r := clock.recorder(t, RecorderOptions{Buckets: rapid.SampledFrom([]Buckets{{}, SpecBuckets()}).Draw(rt, "buckets")})
		rl := newRollupLayout(r.layout)
		var source published
		var snapshot Snapshot
		m := mustOpen(t, r, "m", &source, Chat)
		closed := make([]uint64, rl.size()) // what the models of the name had counted when they were closed
		now := func() []uint64 {
			r.scrape.Lock()
			defer r.scrape.Unlock()
			r.collect()
			totals := make([]uint64, rl.size())
			rl.read(m, totals)
			mergeSlot(totals, closed, 0)
			return totals
		}
		steps := rapid.IntRange(1, 30).Draw(rt, "steps")
		for range steps {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				m.Finish(anyRecord(rt))
			case 1:
				op, or := rapid.IntRange(0, NumOperations-1).Draw(rt, "operation"), rapid.IntRange(0, NumOrigins-1).Draw(rt, "origin")
				snapshot.Prompt[op][or] += rapid.Uint64Range(0, 99).Draw(rt, "prompt")
				snapshot.Generated[op][or] += rapid.Uint64Range(0, 99).Draw(rt, "generated")
				snapshot.Preemptions += rapid.Uint64Range(0, 2).Draw(rt, "preemptions")
				snapshot.Spec.DraftTokens += rapid.Uint64Range(0, 9).Draw(rt, "drafted")
				source.publish(snapshot)
			case 2:
				clock.pass(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 7 * time.Second, 10 * time.Second, time.Minute, 3 * time.Minute}).Draw(rt, "pass"))
			case 3:
				clock.pass(time.Second)
				r.tick(clock.Now())
			case 4:
				scrapeOf(t, r)
			case 5:
				copy(closed, now())
				m.Close()
				snapshot = Snapshot{}
				source.publish(snapshot)
				m = mustOpen(t, r, "m", &source, Chat)
			}
		}
		want := now()
		r.tick(clock.Now())
		roll := r.rollups.models[0]
		for c := range numCombinations {
			wantRow := rl.row(want, c)
			for g := range grains {
				sum := make([]uint64, rl.width)
				if s := roll.requests[c]; s != nil {
					for words := s.rings[g].copy(0, 1<<62, 1+rl.width); len(words) > 0; words = words[1+rl.width:] {
						mergeSlot(sum, words[1:1+rl.width], 0)
					}
				}
				if !slices.Equal(sum, wantRow) {
					rt.Fatalf("combination %d, step %s: slots add up to\n%v, counters are\n%v", c, grains[g].name, sum, wantRow)
				}
			}
		}
		for g := range grains {
			sum := make([]uint64, engineWidth)
			for words := roll.engine.rings[g].copy(0, 1<<62, 1+engineWidth); len(words) > 0; words = words[1+engineWidth:] {
				mergeSlot(sum, words[1:1+engineWidth], rollupMaxima)
			}
			if wantRow := rl.engine(want); !slices.Equal(sum[rollupMaxima:], wantRow[rollupMaxima:]) {
				rt.Fatalf("engine, step %s: slots add up to %v, counters are %v", grains[g].name, sum, wantRow)
			}
		}
	})
}

// A source that breaks its word and goes down adds nothing until it is past where it was.
func TestRollupsOfASourceThatGoesDown(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	var source published
	mustOpen(t, r, "m", &source, Chat)
	most := uint64(0)
	for _, n := range []uint64{100, 40, 90, 130} {
		most = max(most, n)
		var s Snapshot
		s.Generated[Chat][Live], s.PrefixHits = n, n
		source.publish(s)
		clock.pass(time.Second)
		r.tick(clock.Now())
		got := mustRollups(t, r, time.Time{}, time.Time{}, 0)
		if tokens := got.Series[0].Total.GeneratedTokens; tokens != most {
			t.Errorf("%d tokens at %d, want %d", tokens, n, most)
		}
		if hits := got.Models[0].Total.PrefixHits; hits != most {
			t.Errorf("%d hits at %d, want %d", hits, n, most)
		}
	}
}

// fill makes every combination and the engine of m busy for one tick.
func fill(m *Model, source *published, s *Snapshot) {
	for op := range Operation(NumOperations) {
		for or := range Origin(NumOrigins) {
			s.Prompt[op][or] += 1000
			rec := finished(op, or, 1+rand.IntN(9))
			rec.Finished += time.Duration(rand.Int64N(int64(time.Minute)))
			m.Finish(rec)
		}
	}
	s.PagesUsed = 1 + rand.IntN(99)
	s.PrefixQueries += 1000
	source.publish(*s)
}

// The bytes that doc.go and the comment of rollups state.
const (
	statedSeries, statedModel         = 1_750_000, 26_500_000
	statedWideSeries, statedWideModel = 6_510_000, 98_000_000 // with 64 bounds for each histogram
)

// All combinations of a model are used in every slot of more than 90 days: the slots and the bytes stay within what is stated.
func TestRollupMemoryIsBounded(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{Events: -1})
	var source published
	var s Snapshot
	m := mustOpen(t, r, "m", &source, Chat)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // pools let go in the second
	runtime.ReadMemStats(&before)
	run := func(every, long time.Duration) {
		for range long / every {
			fill(m, &source, &s)
			clock.pass(every)
			r.tick(clock.Now())
		}
	}
	run(time.Hour, 91*24*time.Hour)
	run(time.Minute, 25*time.Hour)
	run(10*time.Second, 2*time.Hour)
	fill(m, &source, &s) // and the slot in progress
	r.tick(clock.Now())
	runtime.GC()
	runtime.ReadMemStats(&after)

	rl, roll := r.rollups.layout, r.rollups.models[0]
	for c, s := range roll.requests {
		for g := range grains {
			if n := s.rings[g].n; n != grains[g].keep {
				t.Errorf("combination %d has %d slots of %s, want %d", c, n, grains[g].name, grains[g].keep)
			}
		}
		if s.bytes() > statedSeries {
			t.Errorf("combination %d takes %d bytes, stated are %d", c, s.bytes(), statedSeries)
		}
	}
	bytes, heap := roll.bytes(), int(after.HeapAlloc)-int(before.HeapAlloc)
	t.Logf("%d words a slot; a series %d bytes, an engine %d, the model %d of at most %d; the heap grew by %d",
		1+rl.width, roll.requests[0].bytes(), roll.engine.bytes(), bytes, rl.maxRollupBytes(), heap)
	if bytes > rl.maxRollupBytes() || rl.maxRollupBytes() > statedModel {
		t.Errorf("a model takes %d bytes, the most is %d, stated are %d", bytes, rl.maxRollupBytes(), statedModel)
	}
	if heap > statedModel+1<<21 { // the rest of a recorder is in it, too
		t.Errorf("the heap grew by %d, stated are %d", heap, statedModel)
	}
	got := mustRollups(t, r, clock.Wall().Add(-100*24*time.Hour), time.Time{}, 0)
	if got.Step != 3600 || len(got.Series) != numCombinations || len(got.Series[0].Slots) != 90*24+2 {
		t.Errorf("step %d, %d series, %d slots", got.Step, len(got.Series), len(got.Series[0].Slots))
	}

	clock.pass(91 * 24 * time.Hour) // all of it ages out, and lets its memory go
	s.PagesUsed = 0
	source.publish(s)
	r.tick(clock.Now())
	if n := roll.bytes(); n != 0 {
		t.Errorf("%d bytes are left after 91 idle days", n)
	}
}

func TestRollupMemoryOnTheWidestBuckets(t *testing.T) {
	var bounds []float64
	for i := range 64 {
		bounds = append(bounds, float64(i+1))
	}
	layout, err := newLayout(Buckets{bounds, bounds, bounds})
	if err != nil {
		t.Fatal(err)
	}
	rl := newRollupLayout(layout)
	if n := rl.maxRollupBytes(); n > statedWideModel {
		t.Errorf("a model takes up to %d bytes, stated are %d", n, statedWideModel)
	}
	var s slotSeries
	values := make([]uint64, rl.width)
	values[0] = 1
	at := uint64(clockStart.UnixNano())
	for _, every := range []time.Duration{time.Hour, time.Minute, 10 * time.Second} {
		for range 2200 {
			at += uint64(every)
			s.add(at, values, 0)
		}
	}
	for g := range grains {
		ring := &s.rings[g]
		if ring.n != grains[g].keep || ring.at(ring.n-1, len(values)+1)[0] != at/uint64(grains[g].step) {
			t.Errorf("%d slots of %s, want the newest %d", ring.n, grains[g].name, grains[g].keep)
		}
	}
	t.Logf("%d words a slot, a series %d bytes", 1+rl.width, s.bytes())
	if most := 8 * slotsPerSeries * (1 + rl.width); s.bytes() > most || most > statedWideSeries {
		t.Errorf("a series takes %d bytes, the most is %d, stated are %d", s.bytes(), most, statedWideSeries)
	}
}

// Idle series and slots take nothing.
func TestIdleRollupsTakeNothing(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	m := mustOpen(t, r, "m", &fixedSource{}, Chat, TextCompletion)
	for range 24 * 60 {
		clock.pass(time.Minute)
		r.tick(clock.Now())
	}
	if n := m.rollup.bytes(); n != 0 {
		t.Errorf("%d bytes for an idle day", n)
	}
	m.Finish(finished(Chat, Live, 1))
	r.tick(clock.Now())
	if n, most := m.rollup.bytes(), 3*8*8*(1+r.rollups.layout.width); n > most {
		t.Errorf("%d bytes for a request, want at most %d", n, most)
	}
}

func TestClosedModelsAreRemembered(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	keep := mustOpen(t, r, "open", nil, Chat)
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, name := range names {
		m := mustOpen(t, r, name, nil, Chat)
		m.Finish(finished(Chat, Live, 1))
		clock.pass(time.Second)
		m.Close() // its last second is taken along
	}
	keep.Finish(finished(Chat, Live, 1))
	list := func() (models, series []string) {
		got := mustRollups(t, r, time.Time{}, time.Time{}, 0)
		for _, m := range got.Models {
			models = append(models, m.Model)
			if m.Open != (m.Model == "open" || m.Model == "c" && len(r.models) == 2) {
				t.Errorf("%s: open is %v", m.Model, m.Open)
			}
		}
		for _, s := range got.Series {
			series = append(series, s.Model)
		}
		return
	}
	want := append([]string{"open"}, names[2:]...)
	if models, series := list(); !slices.Equal(models, want) || !slices.Equal(series, want) {
		t.Errorf("models %v, series %v, want %v", models, series, want)
	}
	again := mustOpen(t, r, "c", nil, Chat)
	again.Finish(finished(Chat, Live, 1))
	again.Finish(finished(Chat, Live, 1))
	got := mustRollups(t, r, time.Time{}, time.Time{}, 0)
	if n := got.Series[1].Total.Requests; got.Series[1].Model != "c" || n != 3 {
		t.Errorf("%s has %d requests, want c to have 1 + 2", got.Series[1].Model, n)
	}
	list()
	keep.Close()
	again.Close()
	clock.pass(91 * 24 * time.Hour)
	r.tick(clock.Now())
	if n := len(r.rollups.models); n != 0 {
		t.Errorf("%d closed models are remembered after 91 days", n)
	}
}

func TestRollupRange(t *testing.T) {
	clock := newTestClock()
	r := clock.recorder(t, RecorderOptions{})
	m := mustOpen(t, r, "m", nil, Chat)
	for range 26 * 60 {
		m.Finish(finished(Chat, Live, 1))
		clock.pass(time.Minute)
		r.tick(clock.Now())
	}
	today := clock.Wall() // 12:00 on the next day
	sum := func(from, to time.Time, step time.Duration) (Rollups, uint64) {
		t.Helper()
		got := mustRollups(t, r, from, to, step)
		if len(got.Series) == 0 {
			return got, 0
		}
		return got, got.Series[0].Total.Requests
	}
	ago := func(d time.Duration) time.Time { return today.Add(-d) }
	for _, row := range []struct {
		name     string
		from, to time.Time
		step     time.Duration
		wantStep int64
		requests uint64
		wantFrom time.Time
	}{
		{"nothing given: the last hour", time.Time{}, time.Time{}, 0, 10, 60, ago(time.Hour)},
		{"half an hour", ago(30 * time.Minute), time.Time{}, 0, 10, 30, ago(30 * time.Minute)},
		{"a little over an hour", ago(61 * time.Minute), time.Time{}, 0, 60, 61, ago(61 * time.Minute)},
		{"a day", ago(24 * time.Hour), time.Time{}, 0, 60, 24 * 60, ago(24 * time.Hour)},
		{"over a day", ago(25 * time.Hour), time.Time{}, 0, 3600, 25 * 60, ago(25 * time.Hour)},
		{"an hour, a day ago", ago(24 * time.Hour), ago(23 * time.Hour), 0, 60, 60, ago(24 * time.Hour)},
		{"a slot that the range cuts is whole", ago(90 * time.Second), ago(80 * time.Second), time.Minute, 60, 1, ago(2 * time.Minute)},
		{"finer than is remembered", ago(5 * time.Hour), time.Time{}, 10 * time.Second, 10, 60, ago(time.Hour + 10*time.Second)},
		{"before anything", time.Unix(1, 0), ago(40 * 24 * time.Hour), 0, 3600, 0, ago((90*24 + 1) * time.Hour)},
		{"all that is remembered", time.Unix(1, 0), time.Time{}, 0, 3600, 26 * 60, ago((90*24 + 1) * time.Hour)},
		{"far beyond all clocks", time.Unix(1, 0), time.Unix(1<<60, 0), 0, 3600, 26 * 60, ago((90*24 + 1) * time.Hour)},
		{"to come", today.Add(time.Hour), today.Add(2 * time.Hour), 10 * time.Second, 10, 0, today.Add(time.Hour)},
	} {
		got, n := sum(row.from, row.to, row.step)
		if got.Step != row.wantStep || n != row.requests || got.From != row.wantFrom.Unix() || got.To < got.From {
			t.Errorf("%s: step %d, %d requests, from %d to %d; want step %d, %d requests, from %d",
				row.name, got.Step, n, got.From, got.To, row.wantStep, row.requests, row.wantFrom.Unix())
		}
	}
	var bad *RollupRangeError
	if _, err := r.Rollups(today, ago(time.Hour), 0); !errors.As(err, &bad) {
		t.Errorf("backwards: %v", err)
	}
	if _, err := r.Rollups(ago(time.Hour), today, time.Second); !errors.As(err, &bad) {
		t.Errorf("a step of a second: %v", err)
	}
	for _, r := range []*Recorder{Off, newTestRecorder(RecorderOptions{NoMetrics: true})} {
		if _, err := r.Rollups(time.Time{}, time.Time{}, 0); !errors.Is(err, ErrNoMetrics) {
			t.Errorf("without metrics: %v", err)
		}
		if _, err := r.Stats(); !errors.Is(err, ErrNoMetrics) {
			t.Errorf("without metrics: %v", err)
		}
	}
	if got := mustRollups(t, clock.recorder(t, RecorderOptions{}), time.Time{}, time.Time{}, 0); got.Series == nil || got.Models == nil || len(got.Models) != 0 {
		t.Errorf("without models: %+v", got)
	}
}

// Setting the clock moves what there is by whole slots and tears nothing.
func TestRollupsWhenTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-26 * time.Hour, -time.Minute, -3 * time.Second, 4 * time.Second, 47 * time.Second, 8 * time.Hour} {
		clock := newTestClock()
		r := clock.recorder(t, RecorderOptions{})
		m := mustOpen(t, r, "m", nil, Chat)
		for range 30 {
			m.Finish(finished(Chat, Live, 1))
			clock.pass(10 * time.Second)
			r.tick(clock.Now())
		}
		clock.set.Store(int64(by))
		m.Finish(finished(Chat, Live, 1))
		got := mustRollups(t, r, time.Time{}, time.Time{}, 0)
		slots := got.Series[0].Slots
		if got.Series[0].Total.Requests != 31 || len(slots) != 31 {
			t.Errorf("set by %v: %d requests in %d slots", by, got.Series[0].Total.Requests, len(slots))
		}
		for i := range slots {
			if slots[i].Start%10 != 0 || i > 0 && slots[i].Start != slots[i-1].Start+10 {
				t.Errorf("set by %v: slot %d starts at %d, the one before at %d", by, i, slots[i].Start, slots[max(0, i-1)].Start)
			}
		}
		if off := clock.Wall().Unix() - slots[len(slots)-1].Start; off < -10 || off > 20 {
			t.Errorf("set by %v: the slot in progress began %d s ago", by, off)
		}
	}
}
