package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client asks runners. It takes no proxy from the environment and follows no redirect, so that a key goes where the command line says
// and nowhere else.
type client struct{ http *http.Client }

// askTime is how long a runner may take for one answer. A loopback runner takes milliseconds; one that computes on every core, more.
const askTime = 5 * time.Second

func newClient() *client {
	return &client{&http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			TLSHandshakeTimeout:    askTime,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // a small answer stays small
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// statusError is an answer that isn't 200.
type statusError struct {
	status int
	kind   string // of our error objects: error.type
}

func (e *statusError) Error() string { return fmt.Sprintf("it answered %d %s", e.status, e.kind) }

// refused tells whether a runner says that it has no such thing: it was started without.
func refused(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.status == http.StatusNotFound && s.kind == "not_found"
}

// get asks for a path below a runner's address. An answer of more than most bytes is errTooMuch.
func (c *client) get(ctx context.Context, t *target, path string, q url.Values, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	at := t.url + path
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, failure(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(body)) > most {
		return nil, errTooMuch
	}
	return body, nil
}

// failure reads what an answer that isn't 200 says.
func failure(res *http.Response) error {
	var body struct{ Error struct{ Type string } }
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<10))
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	kind := body.Error.Type
	if err != nil || len(kind) > 64 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" {
		kind = ""
	}
	return &statusError{res.StatusCode, kind}
}

// plain is an error of the client's without the address, which is told anyway.
func plain(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// target is a runner's address, and the key to bring.
type target struct {
	id   string // of the runner: its host and port, as a path has them
	url  string // without a slash at the end
	key  string
	host string
}

// parseTarget reads the address of a runner as the command line gives it.
func parseTarget(s, key string) (*target, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the runner %.200q is no address like http://127.0.0.1:11540", s)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the runner %.200q must be scheme, host and port alone; its key is --runner-key", s)
	}
	host, zone, zoned := strings.Cut(u.Hostname(), "%") // the zone of an address of one link is a name of this machine's
	host, port := strings.ToLower(host), u.Port()
	if zoned {
		host += "%" + zone
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if host == "localhost" {
		host = "127.0.0.1" // where servers of ours listen by default
	}
	address := net.JoinHostPort(host, port)
	id := strings.NewReplacer("[", "", "]", "", ":", "-", "%", "-").Replace(address)
	return &target{id: id, url: u.Scheme + "://" + strings.ReplaceAll(address, "%", "%25"), key: key, host: address}, nil
}
