package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client asks a server for completions as OpenAI's API streams them.
type client struct {
	url   string
	model string
	http  *http.Client
}

// newClient finds the name of the model that the server has.
func newClient(ctx context.Context, url string, connections int) (*client, error) {
	// A connection for each request: some servers close one that waits for its next, in the very moment at which that comes.
	c := &client{url: strings.TrimSuffix(url, "/"), http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, MaxConnsPerHost: connections}}}
	body, err := c.get(ctx, "/v1/models")
	if err != nil {
		return nil, err
	}
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &models); err != nil || len(models.Data) == 0 {
		return nil, fmt.Errorf("%s/v1/models names no model: %w: %s", url, err, body)
	}
	c.model = models.Data[0].ID
	return c, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// get returns a page that is there.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &statusError{path, res.StatusCode, string(body)}
	}
	return body, err
}

// statusError is an answer of another status than 200.
type statusError struct {
	path   string
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %d: %.300s", e.path, e.status, e.body)
}

// reply is when a streamed answer's tokens came.
type reply struct {
	tokens      int
	sent        time.Time
	first, last time.Time // when text came
}

func (r reply) ttft() float64 { return r.first.Sub(r.sent).Seconds() }

// tpot is the time of each token after the first.
func (r reply) tpot() float64 { return r.last.Sub(r.first).Seconds() / float64(max(r.tokens-1, 1)) }

// complete streams an answer of so many tokens to a prompt of token ids.
func (c *client) complete(ctx context.Context, prompt []int32, tokens int) (r reply, err error) {
	body, err := json.Marshal(map[string]any{
		"model": c.model, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": true, "stream": true,
		"stream_options": map[string]any{"include_usage": true},
	})
	if err != nil {
		return r, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	q.Header.Set("Content-Type", "application/json")
	r.sent = time.Now()
	res, err := c.http.Do(q)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return r, &statusError{"/v1/completions", res.StatusCode, string(text)}
	}
	if err := r.read(res.Body); err != nil {
		return r, err
	}
	if r.tokens != tokens {
		return r, fmt.Errorf("%d tokens were answered, %d were asked for", r.tokens, tokens)
	}
	return r, nil
}

// read takes the server-sent events of an answer in.
func (r *reply) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	pieces := 0
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			break
		}
		var e struct {
			Choices []struct {
				Text string `json:"text"`
			} `json:"choices"`
			Usage *struct {
				Completion int `json:"completion_tokens"`
			} `json:"usage"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("%s: %w", data, err)
		}
		if e.Error != nil {
			return fmt.Errorf("the stream has an error: %s", e.Error)
		}
		if len(e.Choices) > 0 && e.Choices[0].Text != "" {
			r.last = time.Now()
			if pieces++; pieces == 1 {
				r.first = r.last
			}
		}
		if e.Usage != nil {
			r.tokens = e.Usage.Completion
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if pieces == 0 {
		return errors.New("the stream has no text")
	}
	if r.tokens == 0 { // a server that counts nothing has a piece for each token
		r.tokens = pieces
	}
	return nil
}
