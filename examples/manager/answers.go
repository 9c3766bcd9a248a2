package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// refuse answers with an error as JSON, as a runner does.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	body, _ := json.Marshal(map[string]any{"error": map[string]string{"type": kind, "message": message}}) // strings always marshal
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

// answer makes a handler of what answers GET and HEAD with JSON. params are the parameters that it knows.
func answer(params string, f func(*http.Request, url.Values) (any, error)) http.Handler {
	return readOnly(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		q, err := url.ParseQuery(req.URL.RawQuery)
		for name, v := range q {
			if err == nil && (len(v) != 1 || !strings.Contains(" "+params+" ", " "+name+" ")) {
				err = fmt.Errorf("parameter %.64q isn't known, or is there twice; known: %s", name, params)
			}
		}
		var a any
		if err != nil {
			err = &queryError{err}
		} else {
			a, err = f(req, q)
		}
		write(w, req, a, err)
	}))
}

// readOnly refuses all but GET and HEAD.
func readOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use GET or HEAD")
			return
		}
		h.ServeHTTP(w, req)
	})
}

// queryError says what is wrong with a request, and notFoundError what isn't there.
type (
	queryError    struct{ err error }
	notFoundError struct{ what string }
)

func (e *queryError) Error() string    { return e.err.Error() }
func (e *notFoundError) Error() string { return e.what }

func write(w http.ResponseWriter, req *http.Request, a any, err error) {
	var bad *queryError
	var none *notFoundError
	switch {
	case errors.As(err, &bad):
		refuse(w, http.StatusBadRequest, "invalid_request", bad.Error())
		return
	case errors.Is(err, errUsageTooLong):
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	case errors.As(err, &none):
		refuse(w, http.StatusNotFound, "not_found", none.Error())
		return
	}
	var body []byte
	if err == nil {
		body, err = json.Marshal(a)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "internal_error", err.Error())
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)+1))
	header.Set("Cache-Control", "no-store")
	if req.Method == http.MethodGet {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(30 * time.Second)) // who stops reading holds no memory
		w.Write(append(body, '\n'))                                                          // an error is the reader's having gone
	}
}

// parseTime reads Unix seconds or RFC 3339.
func parseTime(q url.Values, name string, absent int64) (int64, error) {
	s := q.Get(name)
	if s == "" {
		return absent, nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < 1e11 {
		return int64(v), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, &queryError{fmt.Errorf("parameter %s is %.64q, give Unix seconds or RFC 3339 (write + as %%2B)", name, s)}
	}
	return t.Unix(), nil
}
