package api

import (
	"cmp"
	"math"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/toolcall"
	"github.com/paddock-go/paddock/metrics"
)

// params is what the bodies of both routes decode to.
type params struct {
	model        string
	req          engine.Request
	maxTokens    int // max_tokens; 0: not given
	maxAnswer    int // max_completion_tokens; 0: not given
	stream       bool
	includeUsage bool
	streamOpts   bool // stream_options was given
	wantLogprobs bool // chat: logprobs
	topLogprobs  int  // chat: top_logprobs; -1: not given
	bestOf       int
	user, safety string // user, and safety_identifier, its newer name

	// Of a chat.
	args       []templateArg // reasoning_effort, chat_template_kwargs, …
	toolChoice string
	oneCall    bool // parallel_tool_calls: false
	reasoning  toolcall.Mode
	traits     func() *toolcall.Traits // of the model's template; nil: unknown
}

type paramField = field[params]

// shared are the rows of both routes' tables. Bounds are the official API's where
// it has any.
var shared = []paramField{
	{"model", setString(func(p *params) *string { return &p.model })},
	{"stream", setBool(func(p *params) *bool { return &p.stream })},
	{"stream_options", setStreamOptions},
	{"temperature", setFloat(0, 2, func(p *params) *float32 { return &p.req.Temperature })},
	{"top_p", setTopP},
	{"n", setInt(1, engine.MaxChoices, func(p *params) *int { return &p.req.N })},
	{"stop", setStop},
	{"seed", setSeed},
	{"presence_penalty", setFloat(-2, 2, func(p *params) *float32 { return &p.req.PresencePenalty })},
	{"frequency_penalty", setFloat(-2, 2, func(p *params) *float32 { return &p.req.FrequencyPenalty })},
	{"logit_bias", setLogitBias},
	{"max_tokens", setInt(1, math.MaxInt32, func(p *params) *int { return &p.maxTokens })},

	// Beyond the official API.
	{"top_k", setTopK},
	{"min_p", setFloat(0, 1, func(p *params) *float32 { return &p.req.MinP })},
	{"repetition_penalty", setFloat(0.01, 100, func(p *params) *float32 { return &p.req.RepetitionPenalty })},
	{"ignore_eos", setBool(func(p *params) *bool { return &p.req.IgnoreEOS })},
	{"min_tokens", setInt(0, math.MaxInt32, func(p *params) *int { return &p.req.MinTokens })},
	{"stop_token_ids", setStopTokens},
	{"cache_salt", setCacheSalt},

	// Accepted without effect; user is in the request's event.
	{"user", setString(func(p *params) *string { return &p.user })},
	{"metadata", acceptObject},
	{"store", acceptBool},
}

// parse reads an exchange's body by a route's table and checks what concerns both.
func parse(x *exchange, table []paramField) (*params, *refusal) {
	body, f := x.body()
	if f != nil {
		return nil, f
	}
	p := &params{topLogprobs: -1, traits: x.h.e.ChatTraits}
	p.req.Temperature = 1 // the official API's default
	err := decode(body, table, p)
	x.rec.Stream, x.rec.User = p.stream, metrics.Clip(cmp.Or(p.safety, p.user))
	if err != nil {
		return nil, x.refused(err)
	}
	if p.model == "" {
		return nil, invalid("model", "is missing; served here: %s", strings.Join(x.h.o.Names, ", "))
	}
	if f := x.h.knows(p.model); f != nil {
		return nil, f
	}
	if p.streamOpts && !p.stream {
		return nil, invalid("stream_options", "is only allowed with stream: true")
	}
	if p.maxTokens != 0 && p.maxAnswer != 0 && p.maxTokens != p.maxAnswer {
		return nil, invalid("max_tokens", "is %d and max_completion_tokens, its newer name, is %d; give one of them", p.maxTokens, p.maxAnswer)
	}
	p.req.MaxTokens = max(p.maxTokens, p.maxAnswer)
	p.req.Origin = x.rec.Origin
	if t := x.h.o.Tenant; t != nil {
		p.req.Tenant = t(x.r)
		x.rec.Tenant = metrics.Clip(p.req.Tenant)
	}
	if f := x.h.o.Priority; f != nil {
		p.req.Priority = f(x.r)
	}
	if s := x.h.o.CacheScope; s != nil {
		p.req.CacheScope = s(x.r) + "\x00" + p.req.CacheScope
	}
	return p, nil
}

// open submits the request.
func (x *exchange) open(p *params) (*engine.Stream, *refusal) {
	s, err := x.h.e.Submit(x.r.Context(), p.req)
	if err != nil {
		return nil, x.refused(err)
	}
	return s, nil
}

// notServed is why a field is refused.
const notServed = "this is not served; remove it"

// tooMany refuses an array or object beyond its bound.
func tooMany(v value, most int) error {
	return invalid(v.path(), "has more than %d entries", most)
}
