package api

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/paddock-go/paddock/engine"
)

// What a row of a table does with its value: the setters that more than one field
// has, then those of single fields.

type setter = func(*params, value) error

func setString(at func(*params) *string) setter {
	return func(p *params, v value) (err error) { *at(p), err = v.str(); return }
}

func setFloat(least, most float64, at func(*params) *float32) setter {
	return func(p *params, v value) (err error) { *at(p), err = v.number(least, most); return }
}

func setInt(least, most int64, at func(*params) *int) setter {
	return func(p *params, v value) error {
		n, err := v.integer(least, most)
		*at(p) = int(n)
		return err
	}
}

func setBool(at func(*params) *bool) setter {
	return func(p *params, v value) (err error) { *at(p), err = v.boolean(); return }
}

// The accept setters take a field that has no effect here, of the type that it
// should have: it describes the request, or asks for something that is kept anyway.

func acceptString(_ *params, v value) error { _, err := v.str(); return err }

func acceptBool(_ *params, v value) error { _, err := v.boolean(); return err }

func acceptObject(_ *params, v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	return nil
}

// refuseUnless refuses a field unless its value, spaces aside, is one of those
// that ask for nothing.
func refuseUnless(harmless ...string) setter {
	return func(_ *params, v value) error {
		var b bytes.Buffer
		if err := json.Compact(&b, v.raw); err != nil {
			return err
		}
		for _, h := range harmless {
			if b.String() == h {
				return nil
			}
		}
		return invalid(v.path(), notServed)
	}
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
	if v.string() {
		s, err := v.str()
		p.req.Stop = []string{s}
		return err
	}
	if !v.array() {
		return v.wrong("a string or an array of strings")
	}
	return v.elements(func(e value) error {
		if e.at >= engine.MaxStops {
			return tooMany(v, engine.MaxStops)
		}
		s, err := e.str()
		p.req.Stop = append(p.req.Stop, s)
		return err
	})
}

func setStopTokens(p *params, v value) error {
	if !v.array() {
		return v.wrong("an array of token ids")
	}
	return v.elements(func(e value) error {
		if e.at >= engine.MaxStopTokens {
			return tooMany(v, engine.MaxStopTokens)
		}
		id, err := e.integer(0, math.MaxInt32)
		p.req.StopTokens = append(p.req.StopTokens, int32(id))
		return err
	})
}

func setLogitBias(p *params, v value) error {
	if !v.object() {
		return v.wrong("an object of token ids and amounts")
	}
	p.req.LogitBias = make(map[int32]float32)
	return v.members(func(name string, m value) error {
		if len(p.req.LogitBias) >= engine.MaxLogitBias {
			return tooMany(v, engine.MaxLogitBias)
		}
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 || strconv.FormatInt(id, 10) != name { // 07 and +7 would be 7 again
			return invalid(m.path(), "%q is no token id", clip(name))
		}
		p.req.LogitBias[int32(id)], err = m.number(-100, 100)
		return err
	})
}

func setStreamOptions(p *params, v value) error {
	if !v.object() {
		return v.wrong("an object")
	}
	p.streamOpts = true
	return v.members(func(name string, m value) (err error) {
		switch {
		case name != "include_usage" && name != "include_obfuscation":
			return unknown(m)
		case m.null():
			return nil
		case name == "include_usage":
			p.includeUsage, err = m.boolean()
			return err
		}
		_, err = m.boolean() // padding against traffic analysis: none is added
		return err
	})
}

// maxSalt bounds cache_salt, in bytes.
const maxSalt = 256

func setCacheSalt(p *params, v value) (err error) {
	if p.req.CacheScope, err = v.str(); len(p.req.CacheScope) > maxSalt {
		return invalid(v.path(), "has %d bytes, at most %d are allowed", len(p.req.CacheScope), maxSalt)
	}
	return err
}
