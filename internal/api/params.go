package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/engine"
)

// params is what the bodies of both routes decode to.
type params struct {
	model        string
	req          engine.Request
	stream       bool
	includeUsage bool
	streamOpts   bool // stream_options was given
	wantLogprobs bool // chat: logprobs
	topLogprobs  int  // chat: top_logprobs; -1: not given
	bestOf       int64
}

type paramField = field[params]

// The setters that both routes share. Bounds are the official API's where it has
// any.

func setModel(p *params, v value) (err error) { p.model, err = v.str(); return }

func setFloat(least, most float64, at func(*params) *float32) func(*params, value) error {
	return func(p *params, v value) (err error) { *at(p), err = v.number(least, most); return }
}

func setInt(least, most int64, at func(*params) *int) func(*params, value) error {
	return func(p *params, v value) error {
		n, err := v.integer(least, most)
		*at(p) = int(n)
		return err
	}
}

func setBool(at func(*params) *bool) func(*params, value) error {
	return func(p *params, v value) (err error) { *at(p), err = v.boolean(); return }
}

func setTopP(p *params, v value) (err error) {
	if p.req.TopP, err = v.number(0, 1); err == nil && p.req.TopP == 0 {
		p.req.TopP = math.SmallestNonzeroFloat32 // 0 keeps the likeliest token alone, as the limit says
	}
	return err
}

func setTopK(p *params, v value) error {
	n, err := v.integer(-1, math.MaxInt32)
	p.req.TopK = int(max(n, 0)) // -1, as elsewhere: all
	return err
}

func setSeed(p *params, v value) error {
	n, err := v.integer(math.MinInt64, math.MaxInt64)
	p.req.Seed = &n
	return err
}

func setStop(p *params, v value) error {
	if v.raw[0] == '"' {
		s, err := v.str()
		p.req.Stop = []string{s}
		return err
	}
	if v.raw[0] != '[' {
		return v.wrong("a string or an array of strings")
	}
	return array(v.raw, func(i int, raw json.RawMessage) error {
		if i >= engine.MaxStops {
			return invalid(v.name, "has more than %d entries", engine.MaxStops)
		}
		s, err := value{fmt.Sprintf("%s[%d]", v.name, i), raw}.str()
		p.req.Stop = append(p.req.Stop, s)
		return err
	})
}

func setStopTokens(p *params, v value) error {
	if v.raw[0] != '[' {
		return v.wrong("an array of token ids")
	}
	return array(v.raw, func(i int, raw json.RawMessage) error {
		if i >= engine.MaxStopTokens {
			return invalid(v.name, "has more than %d entries", engine.MaxStopTokens)
		}
		id, err := value{fmt.Sprintf("%s[%d]", v.name, i), raw}.integer(0, math.MaxInt32)
		p.req.StopTokens = append(p.req.StopTokens, int32(id))
		return err
	})
}

func setLogitBias(p *params, v value) error {
	if v.raw[0] != '{' {
		return v.wrong("an object of token ids and amounts")
	}
	p.req.LogitBias = make(map[int32]float32)
	return object(v.raw, func(name string, raw json.RawMessage) error {
		if len(p.req.LogitBias) >= engine.MaxLogitBias {
			return invalid(v.name, "has more than %d entries", engine.MaxLogitBias)
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			return invalid(v.name, "%s is no token id", clip(name))
		}
		amount, err := value{v.name + "." + name, raw}.number(-100, 100)
		p.req.LogitBias[int32(id)] = amount
		return err
	})
}

func setStreamOptions(p *params, v value) error {
	if v.raw[0] != '{' {
		return v.wrong("an object")
	}
	p.streamOpts = true
	return object(v.raw, func(name string, raw json.RawMessage) (err error) {
		inner := value{v.name + "." + name, raw}
		switch {
		case string(raw) == "null":
			return nil
		case name == "include_usage":
			p.includeUsage, err = inner.boolean()
			return err
		case name == "include_obfuscation": // padding against traffic analysis: none is added
			_, err = inner.boolean()
			return err
		}
		return invalid(clip(inner.name), "this field is not known; remove it")
	})
}

func setTemplateArgs(p *params, v value) error {
	if v.raw[0] != '{' {
		return v.wrong("an object")
	}
	p.req.TemplateArgs = v.raw
	return nil
}

func setCacheSalt(p *params, v value) (err error) {
	if p.req.CacheScope, err = v.str(); len(p.req.CacheScope) > 256 {
		return invalid(v.name, "has %d bytes, at most 256 are allowed", len(p.req.CacheScope))
	}
	return err
}

// accept takes a field that has no effect here: it describes the request, or asks
// for something that is kept anyway.
func accept(*params, value) error { return nil }

// refuseUnless refuses a field unless its value, spaces aside, is one of those
// that ask for nothing.
func refuseUnless(why string, harmless ...string) func(*params, value) error {
	return func(_ *params, v value) error {
		var b bytes.Buffer
		if json.Compact(&b, v.raw) == nil {
			for _, h := range harmless {
				if b.String() == h {
					return nil
				}
			}
		}
		return invalid(v.name, "%s", why)
	}
}

const notServed = "this is not served; remove it"

// shared are the rows of both routes' tables.
var shared = []paramField{
	{"model", setModel},
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
	{"max_tokens", setInt(1, math.MaxInt32, func(p *params) *int { return &p.req.MaxTokens })},

	// Beyond the official API.
	{"top_k", setTopK},
	{"min_p", setFloat(0, 1, func(p *params) *float32 { return &p.req.MinP })},
	{"repetition_penalty", setFloat(math.SmallestNonzeroFloat32, 100, func(p *params) *float32 { return &p.req.RepetitionPenalty })},
	{"ignore_eos", setBool(func(p *params) *bool { return &p.req.IgnoreEOS })},
	{"min_tokens", setInt(0, math.MaxInt32, func(p *params) *int { return &p.req.MinTokens })},
	{"stop_token_ids", setStopTokens},
	{"priority", setInt(math.MinInt32, math.MaxInt32, func(p *params) *int { return &p.req.Priority })},
	{"cache_salt", setCacheSalt},

	// Accepted without effect.
	{"user", accept},
	{"metadata", accept},
	{"store", refuseUnless("replies are not stored here; remove it", "true", "false")},
}

// parse reads an exchange's body by a route's table and checks what concerns both.
func parse(x *exchange, table []paramField) (*params, *refusal) {
	body, f := x.body()
	if f != nil {
		return nil, f
	}
	p := &params{topLogprobs: -1}
	p.req.Temperature = 1 // the official API's default
	if err := decode(body, table, p); err != nil {
		return nil, refused(err)
	}
	x.rec.Stream = p.stream
	if p.model == "" {
		return nil, invalid("model", "is missing; served here: %s", strings.Join(x.h.o.Names, ", "))
	}
	if f := x.h.knows(p.model); f != nil {
		return nil, f
	}
	if p.streamOpts && !p.stream {
		return nil, invalid("stream_options", "is only allowed with stream: true")
	}
	p.req.Origin = x.rec.Origin
	if t := x.h.o.Tenant; t != nil {
		p.req.Tenant = t(x.r)
		x.rec.Tenant = p.req.Tenant
	}
	if s := x.h.o.CacheScope; s != nil {
		p.req.CacheScope = s(x.r) + "\x00" + p.req.CacheScope
	}
	return p, nil
}
