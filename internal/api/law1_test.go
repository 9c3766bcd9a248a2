package api

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/session"
	"github.com/paddock-go/paddock/sched"
)

// bareGreedy is the greedy answer to a prompt from bare logits, one step a token.
func bareGreedy(t *testing.T, s *session.Session, prompt []int32, n int) []engine.Token {
	t.Helper()
	var out []engine.Token
	from, known := 0, prompt
	for range n {
		logits, err := s.Step(session.Span{From: from, Tokens: known[from:]})
		if err != nil {
			t.Fatal(err)
		}
		top := make([]sample.Alternative, 3)
		sample.Logprobs(logits, 0, top)
		tok := engine.Token{ID: top[0].Token, Logprob: top[0].Logprob}
		for _, a := range top {
			tok.Top = append(tok.Top, engine.TokenLogprob{ID: a.Token, Logprob: a.Logprob})
		}
		out = append(out, tok)
		from, known = len(known), append(known[:len(known):len(known)], tok.ID)
	}
	return out
}

// TestLaw1ThroughTheAPI: logprobs that come over HTTP, streamed or not, whatever
// the schedule was, are those of the bare logits to the last bit.
func TestLaw1ThroughTheAPI(t *testing.T) {
	file, err := demo.Files.ReadFile(demo.Name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), demo.Name)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	device := cpu.New(cpu.Options{Threads: 1})
	defer device.Close()
	s, err := session.Open(path, device, session.Limits{Seqs: 1, Context: 256, Rows: 256, Logits: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const requests, tokens = 10, 20
	prompts, want := make([][]int32, requests), make([][]engine.Token, requests)
	for i := range prompts {
		for k := range 5 + 13*i {
			prompts[i] = append(prompts[i], int32(300+k*(7+i%3)%900)) // every third has the same beginning
		}
		want[i] = bareGreedy(t, s, prompts[i], tokens)
	}
	for _, o := range []engine.Options{
		{Threads: 1},
		{Threads: 2, Limits: sched.Limits{MaxChunk: 7}},
		{Threads: 2, KVPages: 20},
		{Threads: 1, Spec: engine.Spec{NGram: 8}, Limits: sched.Limits{MaxSequences: 4}},
	} {
		t.Run(fmt.Sprintf("threads=%d,chunk=%d,pages=%d,spec=%d", o.Threads, o.Limits.MaxChunk, o.KVPages, o.Spec.NGram), func(t *testing.T) {
			e := open(t, o)
			url := listen(t, New(e, Options{}))
			var wg sync.WaitGroup
			for round := range 2 { // the second finds the prompts cached
				for i := range prompts {
					wg.Go(func() {
						ids := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(prompts[i])), ","), "[]")
						stream := (i+round)%2 == 0
						got, err := fetchLogprobs(url, fmt.Sprintf(`{"model":"demo","prompt":[%s],"max_tokens":%d,"temperature":0,"logprobs":3,"ignore_eos":true,"stream":%v}`, ids, tokens, stream), stream)
						if err == nil {
							err = sameBits(e, got, want[i])
						}
						if err != nil {
							t.Errorf("request %d, round %d: %v", i, round, err)
						}
					})
				}
				wg.Wait()
			}
			if s := settle(t, e); o.KVPages > 0 && s.Preemptions == 0 {
				t.Error("no preemption happened")
			}
		})
	}
}

// fetchLogprobs asks over HTTP and joins the logprobs of all events.
func fetchLogprobs(url, body string, stream bool) (all completionLogprobs, err error) {
	res, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return all, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		return all, fmt.Errorf("status %d, %v: %s", res.StatusCode, err, text)
	}
	replies := []string{string(text)}
	if stream {
		replies = strings.Split(strings.TrimSuffix(string(text), "data: [DONE]\n\n"), "\n\n")
	}
	for _, reply := range replies {
		reply = strings.TrimPrefix(reply, "data: ")
		if reply == "" {
			continue
		}
		var r completionReply
		if err := json.Unmarshal([]byte(reply), &r); err != nil {
			return all, fmt.Errorf("%w in %s", err, reply)
		}
		for _, c := range r.Choices {
			if l := c.Logprobs; l != nil {
				all.Tokens, all.Logprobs, all.Top = append(all.Tokens, l.Tokens...), append(all.Logprobs, l.Logprobs...), append(all.Top, l.Top...)
			}
		}
	}
	return all, nil
}

// sameBits compares what came over HTTP with tokens, logprobs bit by bit.
func sameBits(e *engine.Engine, got completionLogprobs, want []engine.Token) error {
	if len(got.Tokens) != len(want) || len(got.Logprobs) != len(want) || len(got.Top) != len(want) {
		return fmt.Errorf("%d tokens, want %d", len(got.Tokens), len(want))
	}
	for i, w := range want {
		if got.Tokens[i] != validUTF8(e.TokenBytes(w.ID)) || math.Float32bits(got.Logprobs[i]) != math.Float32bits(w.Logprob) {
			return fmt.Errorf("token %d: %q with %v, want %q with %v", i, got.Tokens[i], got.Logprobs[i], e.TokenBytes(w.ID), w.Logprob)
		}
		best := make(map[string]float32) // tokens of equal text have one entry, of the likeliest
		for _, a := range w.Top {
			if text := validUTF8(e.TokenBytes(a.ID)); best[text] == 0 {
				best[text] = a.Logprob
			}
		}
		if !maps.Equal(got.Top[i], best) {
			return fmt.Errorf("token %d: alternatives %v, want %v", i, got.Top[i], best)
		}
	}
	return nil
}
