package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/tokenizer"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// Submit checks r, queues it and returns its stream. A metrics.Record in ctx
// becomes this request's; when several are submitted under one record, as for a
// batch of prompts, the first that is taken has it and the others are requests of
// their own in the metrics. The request ends when ctx does, wherever it is by
// then. Whoever gets a stream reads it to its end or closes it.
//
// Errors, beside ctx's own: *RequestError, *ContextError, *PagesError,
// *QueueFullError, *DeviceError, ErrNoChat, ErrDraining, ErrClosed.
func (e *Engine) Submit(ctx context.Context, r Request) (*Stream, error) {
	from := source{op: metrics.TextCompletion, tenant: r.Tenant, origin: r.Origin}
	if r.Messages != nil {
		from.op = metrics.Chat
	}
	rec, owned := e.record(ctx, from)
	rec.MaxTokens = max(r.MaxTokens, 0)
	ctx = e.model.Begin(ctx, rec)
	s, err := e.submit(ctx, &r, rec, owned)
	if err != nil {
		reason := failReason(err)
		if owned {
			rec.Fail = reason
			e.model.Finish(rec)
		} else {
			rec.Refuse(reason)
		}
		return nil, err
	}
	return s, nil
}

func (e *Engine) submit(ctx context.Context, r *Request, rec *metrics.Record, owned bool) (*Stream, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if e.pooled.width > 0 {
		return nil, ErrNoText
	}
	if err := r.check(e.vocab); err != nil {
		return nil, err
	}
	if int(rec.Operation) >= metrics.NumOperations || int(rec.Origin) >= metrics.NumOrigins { // the loop counts by them
		return nil, &RequestError{"the context's metrics.Record", fmt.Sprintf("has operation %d of %d and origin %d of %d",
			rec.Operation, metrics.NumOperations, rec.Origin, metrics.NumOrigins)}
	}
	start := e.rec.Now()
	prompt, tail, err := e.prompt(r)
	if r.Tokens == nil {
		rec.Tokenizing = e.rec.Now() - start
	}
	if err != nil {
		if errors.As(err, new(*ContextError)) {
			e.pub.tooLong.Add(1)
		}
		return nil, err
	}
	s, err := e.newStream(r, prompt, rec, owned)
	if err != nil {
		return nil, err
	}
	s.tail, s.show = tail, e.shown(r.ShowTokens)
	j := s.job
	if !e.inbox.post(command{kind: cmdAdd, job: j}) {
		return nil, ErrClosed
	}
	if err := <-j.ack; err != nil {
		return nil, err
	}
	j.watch(ctx, e.inbox)
	return s, nil
}

// tailBytes is how much of a rendered conversation a stream keeps.
const tailBytes = 256

// prompt returns the tokens of whichever form r gives them in, and the end of the
// text of a conversation.
func (e *Engine) prompt(r *Request) (tokens []int32, tail string, err error) {
	forms := 0
	for _, given := range []bool{r.Prompt != "", r.Tokens != nil, r.Messages != nil} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		return nil, "", &RequestError{"Prompt", fmt.Sprintf("exactly one of Prompt, Tokens and Messages is needed, %d are given", forms)}
	}
	field := "Prompt"
	for _, chat := range []struct {
		name  string
		given bool
	}{{"Tools", rawJSON(r.Tools)}, {"TemplateArgs", rawJSON(r.TemplateArgs)}} {
		if chat.given && r.Messages == nil {
			return nil, "", &RequestError{chat.name, "is for a chat template; give it with Messages only"}
		}
	}
	switch {
	case r.Tokens != nil:
		field = "Tokens"
		for i, id := range r.Tokens {
			if id < 0 || int(id) >= e.vocab {
				return nil, "", &RequestError{fmt.Sprintf("Tokens[%d]", i), fmt.Sprintf("is %d, the vocabulary has ids 0 to %d", id, e.vocab-1)}
			}
		}
		tokens = r.Tokens
	case e.tok == nil:
		return nil, "", &RequestError{field, "the model's file has no tokenizer; give Tokens"}
	case r.Messages != nil:
		field = "Messages"
		if len(r.Messages) == 0 {
			return nil, "", &RequestError{field, "is empty; at least one is needed"}
		}
		text, err := e.RenderChat(r.Messages, r.Tools, r.TemplateArgs)
		if err != nil {
			return nil, "", err
		}
		if err := e.plausible(text, r); err != nil {
			return nil, "", err
		}
		tokens, tail = e.tok.Encode(text, false, true), strings.Clone(text[max(0, len(text)-tailBytes):])
	default:
		if err := e.plausible(r.Prompt, r); err != nil {
			return nil, "", err
		}
		tokens = e.tok.Encode(r.Prompt, true, true)
	}
	if len(tokens) == 0 {
		return nil, "", &RequestError{field, "has no tokens; at least one is needed"}
	}
	if len(tokens)+max(r.MaxTokens, 1) > e.context {
		return nil, "", &ContextError{PromptTokens: len(tokens), MaxTokens: r.MaxTokens, Context: e.context}
	}
	return tokens, tail, nil
}

// plausible refuses a text that is too long for the context whatever its tokens
// turn out to be, before time goes into finding them. Twice the longest token is
// allowed for each, since a few vocabularies have tokens that swallow white space.
func (e *Engine) plausible(text string, r *Request) error {
	if least := len(text) / (2 * max(e.tok.MaxTokenBytes(), 1)); least >= e.context {
		return &ContextError{PromptTokens: least, AtLeast: true, MaxTokens: r.MaxTokens, Context: e.context}
	}
	return nil
}

// newStream makes the request's job and the reader's side of it.
func (e *Engine) newStream(r *Request, prompt []int32, rec *metrics.Record, owned bool) (*Stream, error) {
	n := max(r.N, 1)
	limit := e.context - len(prompt)
	if r.MaxTokens > 0 {
		limit = r.MaxTokens
	}
	j := &job{
		ring:         newRing(n*(1+e.spec.NGram), max(r.Logprobs-1, 0)),
		promptTokens: len(prompt), minTokens: r.MinTokens, logprobs: r.Logprobs,
		rec: rec, owned: owned, op: rec.Operation, origin: rec.Origin,
		ack: make(chan error, 1), done: make(chan struct{}),
	}
	if r.Seed != nil {
		j.seed = *r.Seed
	} else {
		j.seed = rand.Int64()
	}
	j.ends = e.ends(r)
	rec.Open(n)
	p := r.params(j.seed, e.endTokens(r))
	seen := sample.See(p, prompt)
	s := &Stream{e: e, job: j, text: make([]textState, n), top: make([]sample.Alternative, max(r.Logprobs-1, 0))}
	for i := range n {
		p.Choice = i
		var tokens []int32
		if i == 0 { // the others get theirs when the scheduler has taken the request
			tokens = make([]int32, len(prompt), len(prompt)+min(limit, 512))
			copy(tokens, prompt)
		}
		c := &choice{
			job: j, index: i, max: limit,
			sampler: sample.New(p, seen),
			seq: sched.Sequence{
				Tokens: tokens, MaxTokens: r.MaxTokens, Priority: r.Priority, Tenant: r.Tenant, Scope: r.CacheScope,
			},
			out: make([]int32, 0, 1+e.spec.NGram),
		}
		s.text[i].minTokens = r.MinTokens
		if len(r.Stop) > 0 {
			for _, m := range []**tokenizer.StopMatcher{&c.match, &s.text[i].match} {
				var err error
				if *m, err = tokenizer.NewStopMatcher(r.Stop); err != nil {
					return nil, &RequestError{"Stop", err.Error()}
				}
			}
		}
		j.choices = append(j.choices, c)
	}
	for _, c := range j.choices[1:] {
		j.choices[0].seq.Forks = append(j.choices[0].seq.Forks, &c.seq)
	}
	return s, nil
}

// ends is the test whether a token ends a choice of r.
func (e *Engine) ends(r *Request) func(int32) bool {
	own := slices.Clone(r.StopTokens)
	if r.IgnoreEOS || e.tok == nil {
		return func(id int32) bool { return slices.Contains(own, id) }
	}
	return func(id int32) bool { return e.tok.IsEOG(id) || slices.Contains(own, id) }
}

// endTokens lists the same tokens, for those that a minimum length rules out.
func (e *Engine) endTokens(r *Request) []int32 {
	if r.MinTokens == 0 {
		return nil
	}
	ends := slices.Clone(r.StopTokens)
	if !r.IgnoreEOS && e.tok != nil {
		for _, id := range e.tok.EOG() {
			if int(id) < e.vocab {
				ends = append(ends, id)
			}
		}
	}
	return ends
}

// params is how a request's tokens are drawn.
func (r *Request) params(seed int64, ends []int32) sample.Params {
	p := sample.Params{
		Temperature: r.Temperature, TopK: r.TopK, TopP: r.TopP, MinP: r.MinP,
		Repetition: r.RepetitionPenalty, Presence: r.PresencePenalty, Frequency: r.FrequencyPenalty,
		MinTokens: r.MinTokens, Ends: ends, Seed: uint64(seed),
	}
	for id, b := range r.LogitBias {
		p.Bias = append(p.Bias, sample.Bias{Token: id, Amount: b})
	}
	slices.SortFunc(p.Bias, func(a, b sample.Bias) int { return int(a.Token - b.Token) })
	return p
}

// check reports the first field out of its bounds.
func (r *Request) check(vocab int) error {
	for _, f := range []struct {
		name          string
		value         float64
		least, atMost float64
	}{
		{"Temperature", float64(r.Temperature), 0, maxTemperature},
		{"TopK", float64(r.TopK), 0, math.MaxInt32},
		{"TopP", float64(r.TopP), 0, 1},
		{"MinP", float64(r.MinP), 0, 1},
		{"RepetitionPenalty", float64(r.RepetitionPenalty), 0, maxPenalty},
		{"PresencePenalty", float64(r.PresencePenalty), -maxPenalty, maxPenalty},
		{"FrequencyPenalty", float64(r.FrequencyPenalty), -maxPenalty, maxPenalty},
		{"MaxTokens", float64(r.MaxTokens), 0, math.MaxInt32},
		{"MinTokens", float64(r.MinTokens), 0, math.MaxInt32},
		{"N", float64(r.N), 0, MaxChoices},
		{"Origin", float64(r.Origin), 0, float64(metrics.NumOrigins - 1)},
		{"Logprobs", float64(r.Logprobs), 0, MaxLogprobs},
		{"the number of Stop strings", float64(len(r.Stop)), 0, MaxStops},
		{"the number of StopTokens", float64(len(r.StopTokens)), 0, MaxStopTokens},
		{"the number of LogitBias entries", float64(len(r.LogitBias)), 0, MaxLogitBias},
	} {
		if !(f.value >= f.least && f.value <= f.atMost) { // also a NaN
			return &RequestError{f.name, fmt.Sprintf("is %v, must be between %v and %v", plain(f.value), plain(f.least), plain(f.atMost))}
		}
	}
	if r.MaxTokens > 0 && r.MinTokens > r.MaxTokens {
		return &RequestError{"MinTokens", fmt.Sprintf("is %d, must not exceed MaxTokens (%d)", r.MinTokens, r.MaxTokens)}
	}
	for i, s := range r.Stop {
		if s == "" || len(s) > MaxStopBytes {
			return &RequestError{fmt.Sprintf("Stop[%d]", i), fmt.Sprintf("has %d bytes, must have 1 to %d", len(s), MaxStopBytes)}
		}
	}
	for i, id := range r.StopTokens {
		if id < 0 || int(id) >= vocab {
			return &RequestError{fmt.Sprintf("StopTokens[%d]", i), fmt.Sprintf("is %d, the vocabulary has ids 0 to %d", id, vocab-1)}
		}
	}
	for id, b := range r.LogitBias {
		if id < 0 || int(id) >= vocab {
			return &RequestError{"LogitBias", fmt.Sprintf("names token %d, the vocabulary has ids 0 to %d", id, vocab-1)}
		}
		if !(b >= -maxPenalty && b <= maxPenalty) {
			return &RequestError{"LogitBias", fmt.Sprintf("of token %d is %v, must be between %d and %d", id, b, -maxPenalty, maxPenalty)}
		}
	}
	return nil
}

// plain is a number as people write it: 2147483647, not 2.147483647e+09.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
