package api

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/paddock-go/paddock/engine"
)

// chatFields is the table of /v1/chat/completions.
var chatFields = slices.Concat(shared, []paramField{
	{"messages", setMessages},
	{"max_completion_tokens", setInt(1, math.MaxInt32, func(p *params) *int { return &p.maxAnswer })},
	{"logprobs", setBool(func(p *params) *bool { return &p.wantLogprobs })},
	{"top_logprobs", setInt(0, engine.MaxLogprobs-1, func(p *params) *int { return &p.topLogprobs })},
	{"reasoning_effort", setEffort},
	{"chat_template_kwargs", setTemplateArgs},

	// Not served.
	{"tools", refuseUnless("[]")},
	{"tool_choice", refuseUnless(`"none"`, `"auto"`)},
	{"functions", refuseUnless("[]")},
	{"function_call", refuseUnless(`"none"`, `"auto"`)},
	{"response_format", refuseUnless(`{"type":"text"}`)},
	{"modalities", refuseUnless(`["text"]`, "[]")},
	{"audio", refuseUnless()},
	{"web_search_options", refuseUnless()},
	{"moderation", refuseUnless()},
	{"verbosity", refuseUnless(`"medium"`)},

	// Accepted without effect.
	{"parallel_tool_calls", acceptBool},
	{"prediction", acceptObject}, // a hint for speed alone
	{"service_tier", acceptString},
	{"safety_identifier", setString(func(p *params) *string { return &p.safety })},
	{"prompt_cache_key", acceptString},
	{"prompt_cache_retention", acceptString},
	{"prompt_cache_options", acceptObject},
})

// setEffort keeps the effort for the template, which may know it.
func setEffort(p *params, v value) error {
	_, err := v.str()
	p.effort = v.raw
	return err
}

// ownArgs are variables of the template that the body has fields of its own for.
var ownArgs = []string{"messages", "tools", "documents"}

func setTemplateArgs(p *params, v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	p.req.TemplateArgs = v.raw
	return v.members(func(name string, m value) error {
		if slices.Contains(ownArgs, name) {
			return invalid(m.path(), "can't be given here")
		}
		return nil
	})
}

// templateArgs are the further variables for the template: the effort, and what
// the body has beside it, which wins.
func (p *params) templateArgs() json.RawMessage {
	args := p.req.TemplateArgs
	if p.effort == nil {
		return args
	}
	out := append([]byte(`{"reasoning_effort":`), p.effort...)
	if args != nil && args[skip(args, 1)] != '}' {
		return append(append(out, ','), args[1:]...)
	}
	return append(out, '}')
}
