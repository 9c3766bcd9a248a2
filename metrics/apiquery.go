package metrics

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// query is a request's parameters, each of which is known and there once. A reader of one notes what is wrong with it; err tells.
type query struct {
	values url.Values
	wrong  *[]error
}

// queryError says what is wrong with a query.
type queryError struct{ message string }

func (e *queryError) Error() string { return e.message }

// parseQuery takes a raw query apart. A parameter that isn't known, or is there twice, is an error.
func parseQuery(raw string, known []string) (query, error) {
	const maxQuery = 4096
	if len(raw) > maxQuery {
		return query{}, &queryError{fmt.Sprintf("the query has %d bytes, the most is %d", len(raw), maxQuery)}
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, &queryError{fmt.Sprintf("the query is malformed: %.100v", err)}
	}
	q := query{values: values, wrong: new([]error)}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !slices.Contains(known, name):
			takes := "none"
			if len(known) > 0 {
				takes = strings.Join(known, ", ")
			}
			q.failf("unknown parameter %.64q; known: %s", name, takes)
		case len(values[name]) > 1:
			q.failf("parameter %s is given %d times, give it once", name, len(values[name]))
		}
	}
	return q, q.err()
}

func (q query) failf(format string, args ...any) {
	*q.wrong = append(*q.wrong, fmt.Errorf(format, args...))
}

// err is what is wrong, or nil.
func (q query) err() error {
	if len(*q.wrong) == 0 {
		return nil
	}
	return &queryError{strings.ReplaceAll(errors.Join(*q.wrong...).Error(), "\n", "; ")}
}

// number reads a whole number from least to most, written in digits alone.
func (q query) number(name string, absent, least, most uint64) uint64 {
	s, ok := q.get(name)
	if !ok {
		return absent
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		q.failf("parameter %s is %.64q, give a whole number from %d to %d", name, s, least, most)
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < least || n > most {
		q.failf("parameter %s is %.64s, give %d to %d", name, s, least, most)
		return 0
	}
	return n
}

// time reads Unix seconds, with decimals or without, or RFC 3339; absent: the zero time.
func (q query) time(name string) time.Time {
	s, ok := q.get(name)
	if !ok {
		return time.Time{}
	}
	if t, ok := parseUnix(s); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.IsZero() {
		q.failf("parameter %s is %.64q, give Unix seconds or RFC 3339, as in 1752484507 or 2025-07-14T09:15:07Z (write + as %%2B)", name, s)
		return time.Time{}
	}
	return t
}

// parseUnix reads seconds in digits, up to the year 9999, and decimals up to nanoseconds; further ones are cut off.
func parseUnix(s string) (time.Time, bool) {
	const most = 253402300799
	whole, decimals, point := strings.Cut(s, ".")
	if whole == "" || point && decimals == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds > most {
		return time.Time{}, false
	}
	nanos, err := strconv.ParseInt((decimals + "000000000")[:9], 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, nanos).UTC(), true
}

// step reads the name of a grain; absent: 0.
func (q query) step(name string) time.Duration {
	s, ok := q.get(name)
	if !ok {
		return 0
	}
	var names []string
	for i := range grains {
		if grains[i].name == s {
			return grains[i].step
		}
		names = append(names, grains[i].name)
	}
	q.failf("parameter %s is %.64q, give %s", name, s, strings.Join(names, ", "))
	return 0
}

func (q query) get(name string) (string, bool) {
	if !q.values.Has(name) {
		return "", false
	}
	return q.values.Get(name), true
}
