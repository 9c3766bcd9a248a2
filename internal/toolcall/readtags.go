package toolcall

import (
	"encoding/json"
	"strings"
)

// readFunctions takes <function=NAME> with <parameter=KEY> inside. A value is the
// text between the tags, less the line breaks next to them.
func readFunctions(section string, o *Offer) ([]Call, bool) {
	var calls []Call
	for rest := strings.TrimSpace(section); rest != ""; rest = strings.TrimSpace(rest) {
		name, body, ok := tag(rest, "<function=", ">")
		if !ok {
			return nil, false
		}
		args := arguments{of: o.types(name)}
		for body = strings.TrimSpace(body); ; body = strings.TrimSpace(body) {
			if behind, ok := strings.CutPrefix(body, "</function>"); ok {
				rest = behind
				break
			}
			key, behind, ok := tag(body, "<parameter=", ">")
			if !ok {
				return nil, false
			}
			value, behind, ok := strings.Cut(behind, "</parameter>")
			if !ok {
				return nil, false
			}
			args.add(key, strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n"))
			body = behind
		}
		calls = append(calls, Call{name, args.String()})
	}
	return calls, len(calls) > 0
}

// readArgKeys takes NAME and then pairs of <arg_key> and <arg_value>.
func readArgKeys(section string, o *Offer) ([]Call, bool) {
	name, rest := section, ""
	if at := strings.Index(section, "<arg_key>"); at >= 0 {
		name, rest = section[:at], section[at:]
	}
	if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, " \n<{") {
		return nil, false
	}
	args := arguments{of: o.types(name)}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		key, behind, ok := tag(rest, "<arg_key>", "</arg_key>")
		if !ok {
			return nil, false
		}
		value, behind, ok := tag(strings.TrimSpace(behind), "<arg_value>", "</arg_value>")
		if !ok {
			return nil, false
		}
		args.add(key, value)
		rest = behind
	}
	return []Call{{name, args.String()}}, true
}

// readDSML takes DeepSeek's invoke and parameter tags, which say of each value
// whether it is a string or JSON.
func readDSML(section string, _ *Offer) ([]Call, bool) {
	var calls []Call
	for rest := strings.TrimSpace(section); rest != ""; rest = strings.TrimSpace(rest) {
		name, body, ok := tag(rest, `<｜DSML｜invoke name="`, `">`)
		if !ok {
			return nil, false
		}
		args := arguments{}
		for body = strings.TrimSpace(body); ; body = strings.TrimSpace(body) {
			if behind, ok := strings.CutPrefix(body, "</｜DSML｜invoke>"); ok {
				rest = behind
				break
			}
			head, behind, ok := tag(body, `<｜DSML｜parameter name="`, `">`)
			if !ok {
				return nil, false
			}
			key, isString, ok := strings.Cut(head, `" string="`)
			if !ok {
				return nil, false
			}
			value, behind, ok := strings.Cut(behind, "</｜DSML｜parameter>")
			if !ok {
				return nil, false
			}
			switch {
			case isString == "true":
				args.text(key, value)
			case json.Valid([]byte(value)):
				args.raw(key, value)
			default:
				return nil, false
			}
			body = behind
		}
		calls = append(calls, Call{name, args.String()})
	}
	return calls, len(calls) > 0
}

// tag takes what stands between two marks, the first of which s begins with, and
// what follows them. Empty is nothing.
func tag(s, open, close string) (inside, behind string, ok bool) {
	if s, ok = strings.CutPrefix(s, open); !ok {
		return "", "", false
	}
	inside, behind, ok = strings.Cut(s, close)
	inside = strings.TrimSpace(inside)
	return inside, behind, ok && inside != ""
}

// arguments puts together a JSON object of values that stood in tags.
type arguments struct {
	of  map[string]bool // parameters that are strings; nil: unknown
	out strings.Builder
}

// add takes a value as text where the tool says that it is a string, else as the
// JSON that it is; what is neither is text.
func (a *arguments) add(key, value string) {
	text, known := a.of[key]
	if trimmed := strings.TrimSpace(value); known && !text && json.Valid([]byte(trimmed)) {
		a.raw(key, trimmed)
		return
	}
	a.text(key, value)
}

func (a *arguments) text(key, value string) { a.raw(key, quote(value)) }

func (a *arguments) raw(key, value string) {
	sep := ", "
	if a.out.Len() == 0 {
		sep = "{"
	}
	a.out.WriteString(sep + quote(key) + ": " + value)
}

func (a *arguments) String() string {
	if a.out.Len() == 0 {
		return "{}"
	}
	return a.out.String() + "}"
}

// quote writes a JSON string, without the escapes that HTML wants.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always can be
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
