package metrics

import "time"

// Stats is a recorder's numbers now, as GET /api/stats shows them.
type Stats struct {
	TimeMS   int64        `json:"ts_ms"`     // Unix milliseconds
	UptimeS  float64      `json:"uptime_s"`  // of the process
	InFlight int64        `json:"in_flight"` // requests held at an edge or through the API
	Build    StatsBuild   `json:"build"`
	Service  StatsService `json:"service"`
	Models   []ModelStats `json:"models"` // open ones, in the order of opening

	Run
}

// StatsBuild is what paddock_build_info says.
type StatsBuild struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goversion"`
}

// StatsService is what target_info says.
type StatsService struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	InstanceID string `json:"instance_id"`
}

// ModelStats is one model's numbers: counters since it was opened, and rates.
type ModelStats struct {
	Model     string       `json:"model"`
	Requests  RequestStats `json:"requests"`
	Tokens    TokenStats   `json:"tokens"`
	Rates     RateStats    `json:"rates"`
	Sequences *SeqStats    `json:"sequences,omitempty"` // this and the following: absent for a model without an engine
	KV        *KVStats     `json:"kv,omitempty"`
	Prefix    *PrefixStats `json:"prefix_cache,omitempty"`
	Spec      *SpecStats   `json:"spec,omitempty"`

	MemoryBytes map[string]int64 `json:"memory_bytes,omitempty"` // by kind
}

// RequestStats counts ended requests.
type RequestStats struct {
	Ended     uint64            `json:"ended"`
	Succeeded uint64            `json:"succeeded"`
	Failed    map[string]uint64 `json:"failed"`   // by class
	Rejected  map[string]uint64 `json:"rejected"` // of those, what the scheduler refused, by reason
}

// TokenStats counts tokens.
type TokenStats struct {
	Prompt    uint64 `json:"prompt"`
	Cached    uint64 `json:"cached"` // of the prompt's
	Generated uint64 `json:"generated"`
}

// RateStats are rates per second over the last WindowS seconds: about ten, fewer after the model's opening, and all 0 in its first.
type RateStats struct {
	WindowS         float64 `json:"window_s"`
	Requests        float64 `json:"requests_per_s"`
	PromptTokens    float64 `json:"prompt_tokens_per_s"`
	CachedTokens    float64 `json:"cached_tokens_per_s"`
	GeneratedTokens float64 `json:"generated_tokens_per_s"`
}

// SeqStats counts sequences: what the scheduler took, holds and let go.
type SeqStats struct {
	Running         int               `json:"running"`
	Waiting         int               `json:"waiting"`
	WaitingByReason map[string]int    `json:"waiting_by_reason"`
	Admitted        uint64            `json:"admitted"`
	Finished        map[string]uint64 `json:"finished"` // by reason
	Preemptions     uint64            `json:"preemptions"`
	RecomputedToks  uint64            `json:"recomputed_tokens"`
}

// KVStats is the page pool.
type KVStats struct {
	PagesUsed    int     `json:"pages_used"`
	PagesFree    int     `json:"pages_free"`
	PagesCached  int     `json:"pages_cached"` // of the free ones
	PagesTotal   int     `json:"pages_total"`
	Usage        float64 `json:"usage"` // used / total
	PageSize     int     `json:"page_size"`
	DType        string  `json:"dtype"`
	PagesEvicted uint64  `json:"pages_evicted"`
}

// PrefixStats is the prefix cache, in tokens.
type PrefixStats struct {
	Queries uint64   `json:"queries"`
	Hits    uint64   `json:"hits"`
	HitRate *float64 `json:"hit_rate,omitempty"` // absent before the first query
}

// SpecStats is speculation.
type SpecStats struct {
	Drafts         uint64 `json:"drafts"`
	DraftTokens    uint64 `json:"draft_tokens"`
	AcceptedTokens uint64 `json:"accepted_tokens"`
}

// Stats returns the numbers now: those that a scrape at this moment would show, and rates. It may be called concurrently with
// everything. The error is ErrNoMetrics.
func (r *Recorder) Stats() (Stats, error) {
	if r.off {
		return Stats{}, ErrNoMetrics
	}
	r.scrape.Lock()
	defer r.scrape.Unlock()
	now := r.now()
	r.advance(now)
	today, p := r.wall(now), &r.process
	out := Stats{
		Run: p.run, TimeMS: today.UnixMilli(), UptimeS: max(0, unixSeconds(today)-p.start), InFlight: r.inFlight.Load(),
		Build:   StatsBuild{p.build.version, p.build.commit, p.build.goVersion},
		Service: StatsService{p.serviceName, p.serviceVersion, p.serviceInstanceID},
		Models:  make([]ModelStats, 0, len(r.models)),
	}
	for _, m := range r.models {
		out.Models = append(out.Models, m.stats(now))
	}
	return out, nil
}

// stats are the model's numbers at the newest tick, which is now.
func (m *Model) stats(now time.Duration) ModelStats {
	rl, roll, s := m.rec.rollups.layout, m.rollup, &m.last
	c := roll.counts(rl)
	out := ModelStats{Model: m.name,
		Requests: RequestStats{Ended: c.requests, Failed: map[string]uint64{}, Rejected: byName(rejectReasons[:], s.Rejected[:])},
		Tokens:   TokenStats{c.prompt, c.cached, c.generated},
		Rates:    roll.rates.rates(now, c),
	}
	out.Requests.Succeeded = c.requests
	for class, name := range failClassNames {
		var n uint64
		for i := range numCombinations {
			n += rl.row(roll.base, i)[class]
		}
		out.Requests.Failed[name] = n
		out.Requests.Succeeded -= n
	}
	if m.source == nil {
		return out
	}
	out.Sequences = &SeqStats{Running: s.Running, Waiting: s.WaitingTotal(), WaitingByReason: byName(waitReasons[:], s.Waiting[:]),
		Admitted: s.Admitted, Finished: byName(endReasons[:], s.Finished[:]), Preemptions: s.Preemptions, RecomputedToks: s.Recomputed}
	out.KV = &KVStats{PagesUsed: s.PagesUsed, PagesFree: s.PagesFree, PagesCached: s.PagesCached, PagesTotal: s.PagesTotal,
		Usage: s.PagesUsage(), PageSize: s.PageSize, DType: s.KVType.String(), PagesEvicted: s.PagesEvicted}
	out.Prefix = &PrefixStats{Queries: s.PrefixQueries, Hits: s.PrefixHits}
	if s.PrefixQueries > 0 {
		out.Prefix.HitRate = new(float64(s.PrefixHits) / float64(s.PrefixQueries))
	}
	out.Spec = &SpecStats{s.Spec.Drafts, s.Spec.DraftTokens, s.Spec.AcceptedTokens}
	out.MemoryBytes = byName(memoryKinds[:], s.Memory[:])
	return out
}

// byName is values by the label values of their enum.
func byName[V any](names []string, values []V) map[string]V {
	out := make(map[string]V, len(values))
	for i, v := range values {
		out[names[i]] = v
	}
	return out
}

// rates are the rates up to c at now.
func (w *rateWindow) rates(now time.Duration, c rateCounts) RateStats {
	from, ok := w.since(now)
	if !ok {
		return RateStats{}
	}
	seconds := (now - from.at).Seconds()
	per := func(from, to uint64) float64 { return float64(to-from) / seconds }
	return RateStats{WindowS: seconds, Requests: per(from.requests, c.requests), PromptTokens: per(from.prompt, c.prompt),
		CachedTokens: per(from.cached, c.cached), GeneratedTokens: per(from.generated, c.generated)}
}
