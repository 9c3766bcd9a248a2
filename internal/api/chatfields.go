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
	{"documents", setSources},
	{"add_generation_prompt", setGenerationPrompt},
	{"tools", setTools},
	{"tool_choice", setToolChoice},
	{"parallel_tool_calls", setParallel},
	{"reasoning_format", setReasoningFormat},

	// Not served.
	{"functions", refuseUnless("[]")},
	{"function_call", refuseUnless(`"none"`, `"auto"`)},
	{"response_format", refuseUnless(`{"type":"text"}`)},
	{"modalities", refuseUnless(`["text"]`, "[]")},
	{"audio", refuseUnless()},
	{"web_search_options", refuseUnless()},
	{"moderation", refuseUnless()},
	{"verbosity", refuseUnless(`"medium"`)},
	{"continue_final_message", refuseUnless("false")},

	// Accepted without effect.
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
	p.addArg(v)
	return err
}

func setParallel(p *params, v value) error {
	many, err := v.boolean()
	p.oneCall = !many
	return err
}

// maxSources bounds the documents that a template is to put before the model.
const maxSources = 1024

func setSources(p *params, v value) error {
	if !v.array() {
		return v.wrong("an array of objects")
	}
	p.addArg(v)
	return v.elements(func(e value) error {
		if e.at >= maxSources {
			return tooMany(v, maxSources)
		}
		if !e.object() {
			return e.wrong("an object")
		}
		return nil
	})
}

// setGenerationPrompt tells the template whether to open the assistant's turn; it
// does so unless it is told.
func setGenerationPrompt(p *params, v value) error {
	open, err := v.boolean()
	if !open {
		p.addArg(v)
	}
	return err
}

// ownArgs are variables of the template that the body has fields of its own for.
var ownArgs = []string{"messages", "tools", "documents", "add_generation_prompt"}

func setTemplateArgs(p *params, v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	return v.members(func(name string, m value) error {
		if slices.Contains(ownArgs, name) {
			return invalid(m.path(), "can't be given here")
		}
		p.args = append(p.args, templateArg{name, m})
		return nil
	})
}

// templateArg is a further variable for the template.
type templateArg struct {
	name string
	value
}

// addArg takes a field of the body for a variable of its name.
func (p *params) addArg(v value) { p.args = append(p.args, templateArg{v.name, v}) }

// templateArgs are the further variables for the template as one JSON object: those
// of chat_template_kwargs win over fields of the same name.
func (p *params) templateArgs() (json.RawMessage, error) {
	if len(p.args) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for _, fields := range []bool{true, false} { // of two members with one name the later wins
		for _, a := range p.args {
			if (a.value.name == a.name) != fields {
				continue
			}
			key, err := json.Marshal(a.name)
			if err != nil {
				return nil, err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, key...), ':'), a.raw...)
		}
	}
	return append(out, '}'), nil
}

// checkArgs refuses a variable that the template does not read: it would have no
// effect.
func (p *params) checkArgs(reads func(variable string) bool) *refusal {
	for _, a := range p.args {
		if !reads(a.name) {
			return invalid(a.path(), "this model's chat template does not read it, so that it would have no effect; remove it")
		}
	}
	return nil
}

// forTemplate makes the request's variables for the template, and refuses what that
// would not see. A model without a template is refused later.
func (p *params) forTemplate(e *engine.Engine) (f *refusal) {
	if e.HasChat() {
		if f = p.checkArgs(e.ChatReads); f == nil {
			f = p.checkTools(e.ChatReads)
		}
	}
	if f == nil {
		var err error
		if p.req.TemplateArgs, err = p.templateArgs(); err != nil {
			f = invalid("chat_template_kwargs", "%v", err)
		}
	}
	return f
}
