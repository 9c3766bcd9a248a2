package metrics

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// lines is a LogStats with what it wrote, and an engine to tell it of.
type lines struct {
	t   *testing.T
	buf bytes.Buffer
	l   StatLogger
	at  time.Time
}

func newLines(t *testing.T, level slog.Level) *lines {
	out := &lines{t: t, at: time.Unix(1000, 0)}
	out.l = LogStats(slog.New(slog.NewTextHandler(&out.buf, &slog.HandlerOptions{Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
	if out.l.OpenEngine(EngineInfo{}) != nil {
		t.Error("the line wants an observer")
	}
	return out
}

func (l *lines) engine(index int, model string, s Snapshot) EngineStats {
	return EngineStats{EngineInfo{Index: index, Model: model, Opened: time.Unix(1000, 0)}, l.at, &s}
}

// log tells of engines d later and returns the lines that were written.
func (l *lines) log(d time.Duration, engines ...EngineStats) string {
	l.at = l.at.Add(d)
	for i := range engines {
		engines[i].At = l.at
	}
	l.buf.Reset()
	l.l.Log(engines)
	return l.buf.String()
}

func TestLogLine(t *testing.T) {
	l := newLines(t, slog.LevelDebug)
	s := Snapshot{PagesTotal: 64, PagesFree: 64}
	want := func(what, got string, lines ...string) {
		t.Helper()
		if got != strings.Join(lines, "\n")+"\n" {
			t.Errorf("%s:\n got %s\nwant %s", what, got, strings.Join(lines, "\n"))
		}
	}
	want("nothing yet", l.log(10*time.Second, l.engine(0, "m", s)),
		"level=DEBUG msg=\"engine stats\" engine=0 model=m prompt_tokens_per_s=0 generation_tokens_per_s=0 running=0 waiting=0 kv_cache_usage_percent=0 prefix_cache_hit_rate_percent=0")

	s.PromptFrom = [NumPromptSources]uint64{700, 250, 50} // computed, not cached ones, make the throughput
	s.PrefixQueries, s.PrefixHits = 1000, 250
	s.Generated[Chat][Live], s.Generated[TextCompletion][Batch] = 100, 23
	s.Running, s.Waiting = 3, [NumWaitReasons]int{1, 1, 2, 0, 0, 3}
	s.PagesUsed, s.PagesFree = 16, 48
	s.Preemptions = 2
	want("work", l.log(10*time.Second, l.engine(0, "m", s)),
		"level=INFO msg=\"engine stats\" engine=0 model=m prompt_tokens_per_s=70 generation_tokens_per_s=12.3 running=3 waiting=2 deferred=5 preemptions=2 kv_cache_usage_percent=25 prefix_cache_hit_rate_percent=25")

	// Of this interval, not of all time; as long as it really was.
	s.Generated[Chat][Live] += 50
	s.PrefixQueries, s.PrefixHits = s.PrefixQueries+100, s.PrefixHits+90
	s.Waiting = [NumWaitReasons]int{}
	want("more", l.log(2500*time.Millisecond, l.engine(0, "m", s)),
		"level=INFO msg=\"engine stats\" engine=0 model=m prompt_tokens_per_s=0 generation_tokens_per_s=20 running=3 waiting=0 kv_cache_usage_percent=25 prefix_cache_hit_rate_percent=90")

	// The first quiet interval is still said, the second is for debugging.
	quiet := "msg=\"engine stats\" engine=0 model=m prompt_tokens_per_s=0 generation_tokens_per_s=0 running=3 waiting=0 kv_cache_usage_percent=25 prefix_cache_hit_rate_percent=0"
	want("quiet", l.log(10*time.Second, l.engine(0, "m", s)), "level=INFO "+quiet)
	want("quiet still", l.log(10*time.Second, l.engine(0, "m", s)), "level=DEBUG "+quiet)
	s.Generated[Chat][Live]++
	if got := l.log(10*time.Second, l.engine(0, "m", s)); !strings.HasPrefix(got, "level=INFO") || !strings.Contains(got, "generation_tokens_per_s=0.1 ") {
		t.Errorf("one token: %s", got)
	}
}

func TestLogLineOfSpeculationAndEstimates(t *testing.T) {
	l := newLines(t, slog.LevelInfo)
	s := Snapshot{Estimated: true, Flops: 5e12, ReadBytes: 3e9, WriteBytes: 1e9}
	s.Generated[Chat][Live] = 10
	s.Spec = SpecCounts{Positions: 3, Drafts: 10, DraftTokens: 30, AcceptedTokens: 18, AcceptedAt: [MaxDraft]uint64{9, 6, 3}}
	got := l.log(10*time.Second, l.engine(2, "m", s))
	want := "level=INFO msg=\"engine stats\" engine=2 model=m prompt_tokens_per_s=0 generation_tokens_per_s=1 running=0 waiting=0 kv_cache_usage_percent=0 prefix_cache_hit_rate_percent=0 tflops=0.5 gb_per_s=0.4\n" +
		"level=INFO msg=speculation engine=2 model=m mean_acceptance_length=2.8 accepted=18 drafted=30 accepted_per_s=1.8 drafted_per_s=3 acceptance_rate_percent=60 acceptance_by_position=\"[0.9 0.6 0.3]\"\n"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	s.Spec.Drafts, s.Spec.DraftTokens = 12, 34 // two drafts of two, none accepted
	s.Generated[Chat][Live] = 12
	if got := l.log(10*time.Second, l.engine(2, "m", s)); !strings.Contains(got,
		"mean_acceptance_length=1 accepted=0 drafted=4 accepted_per_s=0 drafted_per_s=0.4 acceptance_rate_percent=0 acceptance_by_position=\"[0 0 0]\"") {
		t.Errorf("nothing accepted: %s", got)
	}
	s.Generated[Chat][Live] = 13
	if got := l.log(10*time.Second, l.engine(2, "m", s)); strings.Contains(got, "speculation") || !strings.Contains(got, "engine stats") {
		t.Errorf("no draft: %s", got)
	}
}

// An engine that took a closed one's index and name starts from its own opening, and two engines don't mix.
func TestLogLineOfEnginesThatComeAndGo(t *testing.T) {
	l := newLines(t, slog.LevelInfo)
	var s Snapshot
	s.Generated[Chat][Live] = 1000
	other := s
	if got := l.log(10*time.Second, l.engine(0, "m", s), l.engine(1, "n", other)); strings.Count(got, "generation_tokens_per_s=100 ") != 2 {
		t.Errorf("two engines: %s", got)
	}
	again := l.engine(0, "m", s)
	again.Opened = l.at.Add(5 * time.Second)
	other.Generated[Chat][Live] = 1010
	got := l.log(10*time.Second, again, l.engine(1, "n", other))
	if !strings.Contains(got, "engine=0 model=m prompt_tokens_per_s=0 generation_tokens_per_s=200 ") ||
		!strings.Contains(got, "engine=1 model=n prompt_tokens_per_s=0 generation_tokens_per_s=1 ") {
		t.Errorf("reopened: %s", got)
	}
	if l.log(10*time.Second, l.engine(1, "n", other)); len(l.l.(*statLines).before) != 1 {
		t.Errorf("%d readings are kept, want the open engine's", len(l.l.(*statLines).before))
	}
}

// No time, or a counter that went back, makes no absurd number.
func TestLogLineOfNonsense(t *testing.T) {
	l := newLines(t, slog.LevelDebug)
	var s Snapshot
	s.Generated[Chat][Live], s.Preemptions, s.PrefixQueries = 1000, 5, 7
	if got := l.log(0, l.engine(0, "m", s)); !strings.Contains(got, "generation_tokens_per_s=0 ") {
		t.Errorf("no time: %s", got)
	}
	got := l.log(10*time.Second, l.engine(0, "m", Snapshot{}))
	if !strings.Contains(got, "generation_tokens_per_s=0 ") || strings.Contains(got, "preemptions") || strings.Contains(got, "NaN") {
		t.Errorf("went back: %s", got)
	}
}

// A recorder writes the lines from its own numbers.
func TestLogLineOfARecorder(t *testing.T) {
	l := newLines(t, slog.LevelInfo)
	var o RecorderOptions
	o.StatLoggers = []StatLogger{l.l}
	wall := time.Unix(5000, 0)
	o.test.wall = func() time.Time { return wall }
	r := newTestRecorder(o)
	e := newSim(t, r, "tiny")
	e.live(lives[0].life)
	wall = wall.Add(10 * time.Second)
	r.logStats()
	if got := l.buf.String(); !strings.Contains(got, "engine=0 model=tiny prompt_tokens_per_s=6.8 generation_tokens_per_s=0.5 running=0 waiting=0 ") {
		t.Errorf("68 computed and 5 generated tokens in 10 s: %s", got)
	}
}
