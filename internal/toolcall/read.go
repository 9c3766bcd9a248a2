package toolcall

import (
	"encoding/json"
	"strings"
)

// readJSON takes one JSON value or several: an object with a name and arguments or
// parameters, or an array of such.
func readJSON(section string, _ *Offer) ([]Call, bool) {
	var calls []Call
	rest := section
	for {
		rest = strings.TrimLeft(rest, " \t\r\n;,")
		if rest == "" {
			return calls, len(calls) > 0
		}
		raw, n, ok := jsonValue(rest)
		if !ok {
			return nil, false
		}
		rest = rest[n:]
		list := []json.RawMessage{raw}
		if raw[0] == '[' {
			list = nil
			if json.Unmarshal(raw, &list) != nil {
				return nil, false
			}
		}
		for _, one := range list {
			c, ok := callOf(one)
			if !ok {
				return nil, false
			}
			calls = append(calls, c)
		}
	}
}

// readOffered is readJSON for sections that nothing marks: a JSON answer that
// happens to have a name is none of the tools that were offered.
func readOffered(section string, o *Offer) ([]Call, bool) {
	calls, ok := readJSON(section, o)
	for _, c := range calls {
		ok = ok && o.has(c.Name)
	}
	return calls, ok
}

// jsonValue takes the JSON value that s begins with, and its length.
func jsonValue(s string) (json.RawMessage, int, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return nil, 0, false
	}
	return raw, int(d.InputOffset()), true
}

// callOf reads {"name": …, "arguments" or "parameters": …}; also in an object
// "function", as clients write it.
func callOf(raw json.RawMessage) (Call, bool) {
	m, ok := members(raw)
	if !ok {
		return Call{}, false
	}
	if inner, ok := m["function"]; ok && inner[0] == '{' { // once: each level is read anew
		if m, ok = members(inner); !ok {
			return Call{}, false
		}
	}
	var name string
	if json.Unmarshal(m["name"], &name) != nil || name == "" {
		return Call{}, false
	}
	arguments, ok := m["arguments"]
	if !ok {
		arguments = m["parameters"]
	}
	args, ok := object(arguments)
	return Call{Name: name, Arguments: args}, ok
}

func members(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err == nil && m != nil
}

// object is the text of arguments: an object, or a string that holds one. None and
// null are an empty object.
func object(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] == 'n' {
		return "{}", true
	}
	text := string(raw)
	if raw[0] == '"' && json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	text = strings.TrimSpace(text)
	return text, strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// readKeyed takes [{"name": {arguments}}, …].
func readKeyed(section string, _ *Offer) ([]Call, bool) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(section), &list) != nil {
		return nil, false
	}
	var calls []Call
	for _, one := range list {
		m, ok := members(one)
		if !ok || len(m) != 1 {
			return nil, false
		}
		for name, raw := range m {
			args, ok := object(raw)
			if !ok || name == "" {
				return nil, false
			}
			calls = append(calls, Call{name, args})
		}
	}
	return calls, len(calls) > 0
}

// readMistral takes a JSON array, or NAME[ARGS]{…}, with the marker between calls
// and perhaps [CALL_ID]… behind the name.
func readMistral(section string, o *Offer) ([]Call, bool) {
	if calls, ok := readJSON(section, o); ok {
		return calls, true
	}
	var calls []Call
	for rest := section; ; {
		rest = strings.TrimPrefix(strings.TrimSpace(rest), "[TOOL_CALLS]")
		if rest == "" {
			return calls, len(calls) > 0
		}
		head, behind, ok := strings.Cut(rest, "[ARGS]")
		if !ok {
			return nil, false
		}
		name, _, _ := strings.Cut(head, "[CALL_ID]")
		raw, n, ok := jsonValue(behind)
		if !ok {
			return nil, false
		}
		args, ok := object(raw)
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \n") {
			return nil, false
		}
		calls, rest = append(calls, Call{name, args}), behind[n:]
	}
}

// readDeepSeek takes calls between their own markers: NAME sep JSON, or the kind of
// tool, sep, NAME and JSON in a fence.
func readDeepSeek(section string, _ *Offer) ([]Call, bool) {
	const begin, sep, end = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
	const fence = "```"
	var calls []Call
	for rest := strings.TrimSpace(section); rest != ""; rest = strings.TrimSpace(rest) {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, begin); !ok {
			return nil, false
		}
		var name string
		if name, rest, ok = strings.Cut(rest, sep); !ok {
			return nil, false
		}
		fenced := false
		if at := strings.IndexAny(rest, "{\n"); at >= 0 { // a fence is behind the first line, a bare object in it
			var body string
			if body, fenced = strings.CutPrefix(rest[at:], "\n"+fence+"json\n"); fenced {
				name, rest = rest[:at], body
			}
		}
		raw, n, ok := jsonValue(rest)
		if !ok {
			return nil, false
		}
		args, ok := object(raw)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, false
		}
		rest = strings.TrimSpace(rest[n:])
		if fenced {
			rest = strings.TrimSpace(strings.TrimPrefix(rest, fence))
		}
		if rest, ok = strings.CutPrefix(rest, end); !ok && rest != "" { // the end of the text may cut the marker off
			return nil, false
		}
		calls = append(calls, Call{name, args})
	}
	return calls, len(calls) > 0
}
