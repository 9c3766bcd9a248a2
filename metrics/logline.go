package metrics

import (
	"context"
	"log/slog"
	"math"
	"time"
)

// LogStats returns a StatLogger that writes a line for each engine every LogInterval, and a second one where the engine drafted, to
// log; nil: slog.Default(). It is for one recorder.
//
//	engine stats  engine, model; prompt and generated tokens a second (of a prompt, those not cached, when it is first scheduled);
//	              sequences running, waiting for capacity, and, where there are any, deferred for something else; preemptions,
//	              where there were any; KV cache usage and prefix cache hit rate in percent; TFLOPS and GB/s, where estimated
//	speculation   mean acceptance length; tokens accepted and drafted, and a second; acceptance rate, whole and by position
//
// Rates, preemptions, the hit rate and all of the second line are of the interval that ends with the line, from the exact counters at
// its ends; an engine's first interval begins with its opening. A rate of nothing is 0. Lines are at level Info, at Debug while an
// engine had no tokens in this interval and the one before.
func LogStats(log *slog.Logger) StatLogger {
	return &statLines{log: log, before: map[int]reading{}}
}

// statLines is LogStats's StatLogger. Only the goroutine that calls Log uses before.
type statLines struct {
	log    *slog.Logger
	before map[int]reading // by index
}

// reading is what an engine had done at the end of an interval.
type reading struct {
	opened time.Time // of which engine it is
	at     time.Time
	quiet  bool // no tokens in the interval
	s      Snapshot
}

// OpenEngine implements StatLogger. Snapshots tell all that a line says.
func (l *statLines) OpenEngine(EngineInfo) Observer { return nil }

// Log implements StatLogger.
func (l *statLines) Log(engines []EngineStats) {
	log := l.log
	if log == nil {
		log = slog.Default()
	}
	now := make(map[int]reading, len(engines))
	for i := range engines {
		e := &engines[i]
		from, ok := l.before[e.Index]
		if !ok || !from.opened.Equal(e.Opened) {
			from = reading{opened: e.Opened, at: e.Opened, quiet: true}
		}
		v := interval{from: &from.s, to: e.Snapshot, seconds: e.At.Sub(from.at).Seconds()}
		to := reading{opened: e.Opened, at: e.At, s: *e.Snapshot, quiet: v.computed() == 0 && v.generated() == 0}
		now[e.Index] = to
		level := slog.LevelInfo
		if from.quiet && to.quiet {
			level = slog.LevelDebug
		}
		if log.Enabled(context.Background(), level) {
			writeLines(log, level, e, &v)
		}
	}
	l.before = now // readings of closed engines go
}

func writeLines(log *slog.Logger, level slog.Level, e *EngineStats, v *interval) {
	s := e.Snapshot
	attrs := append(make([]slog.Attr, 0, 16),
		slog.Int("engine", e.Index),
		slog.String("model", e.Model),
		slog.Float64("prompt_tokens_per_s", rounded(v.rate(v.computed()), 1)),
		slog.Float64("generation_tokens_per_s", rounded(v.rate(v.generated()), 1)),
		slog.Int("running", s.Running),
		slog.Int("waiting", waitClass(s, waitsForCapacity)))
	if n := waitClass(s, deferred); n > 0 {
		attrs = append(attrs, slog.Int("deferred", n))
	}
	if n := since(v.from.Preemptions, s.Preemptions); n > 0 {
		attrs = append(attrs, slog.Uint64("preemptions", n))
	}
	attrs = append(attrs,
		slog.Float64("kv_cache_usage_percent", rounded(100*s.PagesUsage(), 1)),
		slog.Float64("prefix_cache_hit_rate_percent",
			rounded(100*share(since(v.from.PrefixHits, s.PrefixHits), since(v.from.PrefixQueries, s.PrefixQueries)), 1)))
	if s.Estimated {
		moved := s.ReadBytes - v.from.ReadBytes + s.WriteBytes - v.from.WriteBytes
		attrs = append(attrs,
			slog.Float64("tflops", rounded(v.per(s.Flops-v.from.Flops)/1e12, 3)),
			slog.Float64("gb_per_s", rounded(v.per(moved)/1e9, 3)))
	}
	log.LogAttrs(context.Background(), level, "engine stats", attrs...)

	a, b := &v.from.Spec, &s.Spec
	drafts, drafted, accepted := since(a.Drafts, b.Drafts), since(a.DraftTokens, b.DraftTokens), since(a.AcceptedTokens, b.AcceptedTokens)
	if drafts == 0 {
		return
	}
	byPosition := make([]float64, min(max(0, b.Positions), MaxDraft))
	for i := range byPosition {
		byPosition[i] = rounded(share(since(a.AcceptedAt[i], b.AcceptedAt[i]), drafts), 3)
	}
	log.LogAttrs(context.Background(), level, "speculation",
		slog.Int("engine", e.Index),
		slog.String("model", e.Model),
		slog.Float64("mean_acceptance_length", rounded(1+share(accepted, drafts), 2)),
		slog.Uint64("accepted", accepted),
		slog.Uint64("drafted", drafted),
		slog.Float64("accepted_per_s", rounded(v.rate(accepted), 1)),
		slog.Float64("drafted_per_s", rounded(v.rate(drafted), 1)),
		slog.Float64("acceptance_rate_percent", rounded(100*share(accepted, drafted), 1)),
		slog.Any("acceptance_by_position", byPosition))
}

// interval is what an engine did between two readings.
type interval struct {
	from, to *Snapshot
	seconds  float64
}

func (v *interval) computed() uint64 {
	return since(v.from.PromptFrom[FromCompute], v.to.PromptFrom[FromCompute])
}

func (v *interval) generated() uint64 { return since(v.from.Generated.Sum(), v.to.Generated.Sum()) }

func (v *interval) rate(n uint64) float64 { return v.per(float64(n)) }

// per is n a second; 0 where no time has passed.
func (v *interval) per(n float64) float64 {
	if !(v.seconds > 0) {
		return 0
	}
	return n / v.seconds
}

// since is how far a counter went; 0 for one that went down, which is a fault of its source and must not become a huge number.
func since(from, to uint64) uint64 {
	if to < from {
		return 0
	}
	return to - from
}

// share is part / whole; 0 of nothing.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// rounded keeps a line short.
func rounded(v float64, digits int) float64 {
	unit := math.Pow10(digits)
	return math.Round(v*unit) / unit
}
