package metrics

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// vllmView is the StatLogger behind HandlerOptions.VLLM. It wants no observer: its histograms lie in a second ledger of the model,
// behind the gate of the first, so that every page has a step or a request in the families of both views or of neither. Its
// counters and gauges come from the snapshot that the model's own come from.
type vllmView struct{}

var _ StatLogger = vllmView{}

// showVLLM turns the view on, once, for the models that are open and those to come.
func (r *Recorder) showVLLM() {
	if !r.off {
		r.vllm.Do(func() { r.addLogger(vllmView{}) })
	}
}

// OpenEngine implements StatLogger.
func (vllmView) OpenEngine(e EngineInfo) Observer {
	e.model.vllm.Store(&vllmBook{
		ledger: newLedger(newVLLMLayout(e.MaxContext), e.model.ledger.gate),
		labels: []*dto.LabelPair{pair("model_name", e.Model), pair("engine", strconv.Itoa(e.Index))},
	})
	return nil
}

// Log implements StatLogger: the page is read, not told.
func (vllmView) Log([]EngineStats) {}

// vllmBook is the histograms of one engine in the vLLM view.
type vllmBook struct {
	*ledger
	labels []*dto.LabelPair // model_name and engine
}

// step adds an executed step. The caller is inside half.
func (b *vllmBook) step(half int, s *StepStats) {
	e := b.in(half)
	e.observe1(0, vStepTokens, uint64(max(0, s.Tokens)))
	for i := range s.Gaps {
		g := &s.Gaps[i]
		if g.N <= 0 || !known(g.Operation, g.Origin) {
			continue
		}
		sum, n := nanos(g.Gap), uint64(g.N)
		e.observe(0, vGap, sum/n, n, sum)
	}
	for i := range s.Residency {
		p := &s.Residency[i]
		e.observe1(0, vLifetime, nanos(p.Lifetime))
		e.observe1(0, vIdle, nanos(p.Idle))
		for _, gap := range p.Gaps[:min(max(0, p.NGaps), len(p.Gaps))] {
			e.observe1(0, vReuse, nanos(gap))
		}
	}
}

// finish adds an ended request, whatever its end. The caller is inside half. What never reached the engine is no request of it.
func (b *vllmBook) finish(half int, rec *Record) {
	e := b.in(half)
	for i := range rec.Choices {
		e.latencies(rec, &rec.Choices[i])
	}
	if rec.Queued == 0 {
		return
	}
	e.observe1(0, vLatency, nanos(rec.Finished-rec.Arrival))
	e.stages(rec)
	e.sizes(rec)
	e.observe1(0, vPreemptions, uint64(max(0, rec.Preemptions)))
}

// latencies records how fast the tokens of a choice came, if any did.
func (e entry) latencies(rec *Record, c *Choice) {
	if c.Tokens < 1 {
		return
	}
	e.observe1(0, vFirstToken, nanos(c.First-rec.Arrival))
	perToken := uint64(0) // vLLM's meaning for a single token
	if c.Tokens > 1 {
		perToken = nanos(c.Last-c.First) / uint64(c.Tokens-1)
	}
	e.observe1(0, vPerToken, perToken)
}

// stages records what phases does, and the inference time, which is prefill and decode.
func (e entry) stages(rec *Record) {
	e.observe1(0, vQueue, nanos(orEnd(rec.Scheduled, rec.Finished)-rec.Queued))
	if rec.Scheduled == 0 {
		return
	}
	e.observe1(0, vPrefill, nanos(orEnd(rec.First, rec.Finished)-rec.Scheduled))
	if rec.First == 0 {
		e.observe1(0, vInference, nanos(rec.Finished-rec.Scheduled))
		return
	}
	e.observe1(0, vDecode, nanos(rec.Last-rec.First))
	e.observe1(0, vInference, nanos(rec.Last-rec.Scheduled))
}

// sizes records how much a request asked for and got.
func (e entry) sizes(rec *Record) {
	e.observe1(0, vPrompt, uint64(max(0, rec.PromptTokens)))
	e.observe1(0, vComputed, uint64(max(0, rec.PromptTokens-max(0, rec.CachedTokens))))
	most := 0
	for i := range rec.Choices {
		n := max(0, rec.Choices[i].Tokens)
		e.observe1(0, vTokens, uint64(n)) // of a choice
		most = max(most, n)
	}
	if len(rec.Choices) == 0 { // it generates nothing, or its engine doesn't tell choices apart
		most = max(0, rec.GeneratedTokens)
		e.observe1(0, vTokens, uint64(most)) // of all
	}
	e.observe1(0, vMostTokens, uint64(most))
	e.observe1(0, vChoices, uint64(max(1, len(rec.Choices))))
	if rec.MaxTokens > 0 {
		e.observe1(0, vMaxTokens, uint64(rec.MaxTokens))
	}
}
