package metrics

import (
	"iter"
	"net/http"
	"strconv"
	"strings"
)

// chooseFormat reads Accept as RFC 9110 says: of the formats that the list asks for, the one with the highest weight; between equal
// weights, the one that the list names first, which is how Prometheus sends its preferences. OpenMetrics and protobuf have to be
// asked for by name: a wildcard means classic text, and so does a list that asks for nothing that there is.
//
// The choice is made here, and not by the library that encodes, so that a new version of it can't change what a scraper gets:
// there are versions that answer */* with different formats.
func chooseFormat(h http.Header, native bool) *format {
	var asked [numFormats]ask
	n := 0
	for _, line := range h["Accept"] {
		for clause := range split(line, ',') {
			n++
			r := readRange(clause)
			for f := range asked {
				asked[f].consider(r, formats[f].match(&r), n)
			}
		}
	}
	best := classicFormat
	for f := range asked {
		if f == protobufFormat && !native {
			continue
		}
		if asked[f].before(&asked[best]) {
			best = f
		}
	}
	return &formats[best]
}

// ask is what a list says of one format.
type ask struct {
	specific int     // how closely the clause names it; 0: no clause does
	weight   float64 // 0: refused
	at       int     // the clause's place in the list
}

// consider takes a clause that names the format as closely as specific says: the closest clause speaks for the format.
func (a *ask) consider(r mediaRange, specific, at int) {
	if specific > a.specific || specific > 0 && specific == a.specific && r.weight > a.weight {
		*a = ask{specific, r.weight, at}
	}
}

// before says whether a is preferred to b.
func (a *ask) before(b *ask) bool {
	switch {
	case a.specific == 0 || a.weight == 0:
		return false
	case a.weight != b.weight:
		return a.weight > b.weight
	}
	return a.at < b.at
}

// mediaRange is a clause of Accept, as far as the formats tell it apart.
type mediaRange struct {
	name                              string
	version, charset, proto, encoding string // parameters; "": not given
	weight                            float64
}

func readRange(clause string) mediaRange {
	r := mediaRange{weight: 1}
	for part := range split(clause, ';') {
		if r.name == "" {
			r.name = strings.ToLower(part)
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		value = unquote(strings.TrimSpace(value))
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "q":
			r.weight = parseWeight(value)
		case "version":
			r.version = value
		case "charset":
			r.charset = value
		case "proto":
			r.proto = value
		case "encoding":
			r.encoding = value
		}
	}
	return r
}

// acceptsGzip reads Accept-Encoding. Gzip is taken where the list allows it, by name or by *, and doesn't prefer identity by name;
// also where it refuses identity and says nothing of gzip. A list that refuses both gets identity: an answer beats none.
func acceptsGzip(h http.Header) bool {
	const unsaid = -1
	gzip, identity, rest := float64(unsaid), float64(unsaid), float64(unsaid)
	for _, line := range h["Accept-Encoding"] {
		for clause := range split(line, ',') {
			name, params, _ := strings.Cut(clause, ";")
			q := weight(params)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "identity":
				identity = max(identity, q)
			case "*":
				rest = max(rest, q)
			}
		}
	}
	if gzip == unsaid {
		gzip = rest
	}
	if gzip == unsaid {
		return identity == 0
	}
	return gzip > 0 && gzip >= identity
}

// weight is the q parameter among params: 1 where there is none, 0 where it is no number from 0 to 1.
func weight(params string) float64 {
	for p := range split(params, ';') {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			return parseWeight(strings.TrimSpace(value))
		}
	}
	return 1
}

func parseWeight(s string) float64 {
	q, err := strconv.ParseFloat(s, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// split yields the parts of s between seps that stand outside quotes, without outer space; empty ones aren't yielded.
func split(s string, sep byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, quoted := 0, false
		for i := 0; i <= len(s); i++ {
			if i < len(s) {
				switch c := s[i]; {
				case c == '"':
					quoted = !quoted
					continue
				case c == '\\' && quoted:
					i++ // whatever it escapes
					continue
				case c != sep || quoted:
					continue
				}
			}
			part := strings.TrimSpace(s[start:min(i, len(s))])
			start = i + 1
			if part != "" && !yield(part) {
				return
			}
		}
	}
}

// unquote takes the quotes off a parameter's value. An escape inside stays as it is: no value that is looked for has one.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
