package metrics

import (
	"strings"
	"testing"
	"time"
)

// sim is an engine without a model: it lives requests, publishes its snapshot before each push, and keeps every record and step, so
// that a test can work out from them what histograms must hold.
type sim struct {
	t       testing.TB
	now     time.Duration
	m       *Model
	pub     published
	s       Snapshot
	ended   []*Record
	gaps    []float64 // seconds, one for each token
	steps   []float64 // tokens
	stepped []StepStats
}

func newSim(t testing.TB, r *Recorder, name string) *sim {
	e := &sim{t: t, now: time.Second, s: Snapshot{PagesFree: 64, PagesTotal: 64, PageSize: 16, MaxContext: 256, Estimated: true, Residency: true,
		Memory: [NumMemoryKinds]int64{MemoryKV: 4096}}}
	e.s.Spec.Positions = 4
	e.publish()
	e.m = mustOpen(t, r, name, &e.pub, Chat, TextCompletion)
	return e
}

func (e *sim) publish() {
	e.t.Helper()
	if err := CheckBooks(&e.s); err != nil {
		e.t.Fatal(err)
	}
	e.pub.publish(e.s)
}

func (e *sim) tick(d time.Duration) time.Duration {
	e.now += d
	return e.now
}

// How far a request gets.
type stage int

const (
	toTheEnd stage = iota
	atEdge
	inQueue
	inPrefill
)

// life is what happens to one request.
type life struct {
	op          Operation
	origin      Origin
	until       stage
	prompt      int
	prefix      int   // of those
	tier        int   // of those
	tokens      []int // of each choice
	width       int   // most tokens that a step gives a sequence; 0: 1
	preemptions int
	maxTokens   int
	fail        FailReason
}

func (e *sim) live(l life) {
	n := len(l.tokens)
	rec := &Record{Operation: l.op, Origin: l.origin, MaxTokens: l.maxTokens, Arrival: e.tick(ms)}
	if l.until == atEdge {
		rec.Fail = l.fail
		if l.fail == QueueFull {
			e.s.Rejected[RejectQueueFull]++
		}
		e.finish(rec)
		return
	}
	rec.Open(n)
	rec.Queued = e.tick(2 * ms)
	e.s.Admitted += uint64(n)
	e.s.Waiting[WaitCapacity] += n
	e.publish()
	if l.until == inQueue {
		e.s.Waiting[WaitCapacity] -= n
		e.leave(rec, l, n)
		return
	}
	rec.Scheduled = e.tick(18 * ms)
	rec.PromptTokens, rec.CachedTokens = l.prompt, l.prefix+l.tier
	e.s.Waiting[WaitCapacity] -= n
	e.s.Running += n
	e.s.Prompt[l.op][l.origin] += uint64(l.prompt)
	e.s.Cached[l.op][l.origin] += uint64(l.prefix + l.tier)
	for source, tokens := range [NumPromptSources]int{l.prompt - l.prefix - l.tier, l.prefix, l.tier} {
		e.s.PromptFrom[source] += uint64(tokens)
	}
	e.s.PrefixQueries += uint64(l.prompt)
	e.s.PrefixHits += uint64(l.prefix)
	e.s.PagesUsed, e.s.PagesFree = e.s.PagesUsed+1, e.s.PagesFree-1
	e.tick(70 * ms)
	e.step(StepStats{Tokens: l.prompt - l.prefix - l.tier, Took: 70 * ms,
		Residency: []PageResidency{{Lifetime: 3 * time.Second, Idle: 40 * ms, Gaps: [3]time.Duration{ms, 2 * ms}, NGaps: 2}}})
	if l.until == toTheEnd {
		e.decode(rec, l)
	}
	e.s.Running -= n
	e.s.PagesUsed, e.s.PagesFree = e.s.PagesUsed-1, e.s.PagesFree+1
	e.leave(rec, l, n)
}

// decode gives every choice its tokens.
func (e *sim) decode(rec *Record, l life) {
	width := max(1, l.width)
	last := make([]time.Duration, len(l.tokens))
	for left := true; left; {
		left = false
		s := StepStats{Took: 10 * ms}
		e.tick(10 * ms)
		for c, want := range l.tokens {
			n := min(width, want-rec.Choices[c].Tokens)
			if n <= 0 {
				continue
			}
			if width > 1 && last[c] != 0 { // n-1 drafted tokens of width were accepted
				e.s.Spec.Drafts++
				e.s.Spec.DraftTokens += uint64(width)
				e.s.Spec.AcceptedTokens += uint64(n - 1)
				for i := range n - 1 {
					e.s.Spec.AcceptedAt[i]++
				}
			}
			rec.Token(c, e.now, n)
			e.s.Generated[l.op][l.origin] += uint64(n)
			s.Tokens += width
			switch {
			case last[c] != 0:
				s.Gaps = append(s.Gaps, TokenGap{l.op, l.origin, e.now - last[c], n})
			case n > 1:
				s.Gaps = append(s.Gaps, TokenGap{l.op, l.origin, 0, n - 1})
			}
			last[c] = e.now
			left = true
		}
		if l.preemptions > rec.Preemptions {
			rec.Preemptions++
			e.s.Preemptions++
			e.s.Recomputed += 9
			e.tick(300 * ms)
		}
		if left {
			e.step(s)
		}
	}
}

func (e *sim) step(s StepStats) {
	e.s.Flops += 1e9
	e.s.ReadBytes += 4096
	e.s.WriteBytes += 1024
	e.publish()
	e.steps = append(e.steps, float64(s.Tokens))
	e.stepped = append(e.stepped, s)
	for _, g := range s.Gaps {
		for range g.N {
			e.gaps = append(e.gaps, g.Gap.Seconds()/float64(g.N))
		}
	}
	e.m.Step(&s)
}

func (e *sim) leave(rec *Record, l life, n int) {
	reason := map[FailReason]EndReason{NoFail: EndStop, EngineError: EndError}
	end, ok := reason[l.fail]
	if !ok {
		end = EndAbort
	}
	e.s.Finished[end] += uint64(n)
	e.publish()
	rec.Fail = l.fail
	e.finish(rec)
}

func (e *sim) finish(rec *Record) {
	rec.Finished = e.tick(ms)
	e.m.Finish(rec)
	e.ended = append(e.ended, rec)
}

// byFamily is a page by the name of its samples, then by their labels.
type byFamily map[string]series

func familiesOf(page series) byFamily {
	families := byFamily{}
	for sample, v := range page {
		name, labels, _ := strings.Cut(sample, "{")
		if families[name] == nil {
			families[name] = series{}
		}
		families[name][labels] = v
	}
	return families
}

// probe is a page, seen by one engine.
type probe struct {
	page  byFamily
	e     *sim
	index string // the label engine
}

// native sums the samples of a name that are of the engine's model and have all of the given label texts.
func (p probe) native(sample string, labels ...string) float64 {
	labels = append(labels, `model="`+p.e.m.name+`"`) // gen_ai_request_model ends so too
	return p.sum(sample, labels)
}

// view sums the samples of vLLM's that are the engine's.
func (p probe) view(sample string, labels ...string) float64 {
	return p.sum(sample, append(labels, `engine="`+p.index+`"`))
}

func (p probe) sum(sample string, labels []string) float64 {
	p.e.t.Helper()
	total, found := 0.0, false
	for block, v := range p.page[sample] {
		if has(block, labels) {
			total, found = total+v, true
		}
	}
	if !found {
		p.e.t.Errorf("no sample %s with %v", sample, labels)
	}
	return total
}

func has(block string, labels []string) bool {
	for _, l := range labels {
		if !strings.Contains(block, l) {
			return false
		}
	}
	return true
}

// reached are the ended requests that reached the engine.
func (p probe) reached() (records []*Record) {
	for _, rec := range p.e.ended {
		if rec.Queued != 0 {
			records = append(records, rec)
		}
	}
	return records
}

// perRequest is what a histogram must have seen of requests that reached the engine; f says whether a request counts.
func perRequest(f func(*Record) (float64, bool)) func(probe) []float64 {
	return func(p probe) (seen []float64) {
		for _, rec := range p.reached() {
			if v, ok := f(rec); ok {
				seen = append(seen, v)
			}
		}
		return seen
	}
}

// perChoice is the same for their choices.
func perChoice(f func(*Record, *Choice) (float64, bool)) func(probe) []float64 {
	return func(p probe) (seen []float64) {
		for _, rec := range p.reached() {
			for i := range rec.Choices {
				if v, ok := f(rec, &rec.Choices[i]); ok {
					seen = append(seen, v)
				}
			}
		}
		return seen
	}
}
