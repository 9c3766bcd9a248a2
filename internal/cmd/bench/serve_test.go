package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// fakeServer answers as servers of OpenAI's API do, and remembers what it was asked.
type fakeServer struct {
	mu      sync.Mutex
	prompts [][]int32
	uncount bool // leaves the usage out
	short   bool // answers less than it was asked for
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
		return
	case "/v1/models":
		io.WriteString(w, `{"object":"list","data":[{"id":"fake"}]}`)
		return
	case "/v1/completions":
	default:
		http.NotFound(w, r)
		return
	}
	var q struct {
		Model  string  `json:"model"`
		Prompt []int32 `json:"prompt"`
		Tokens int     `json:"max_tokens"`
		Ignore bool    `json:"ignore_eos"`
		Stream bool    `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Model != "fake" || !q.Ignore || !q.Stream {
		http.Error(w, fmt.Sprintf("%+v: %v", q, err), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.prompts = append(s.prompts, q.Prompt)
	s.mu.Unlock()
	if s.short {
		q.Tokens--
	}
	io.WriteString(w, ": a comment\n\n")
	for i := range q.Tokens {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":\"t%d\"}],\"usage\":null}\n\n", i)
	}
	io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n")
	if !s.uncount {
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"completion_tokens\":%d}}\n\n", q.Tokens)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}

// fakeServing is the process of a fake server: fake-server PORT.
func fakeServing(args []string, _ io.Writer) error {
	return http.ListenAndServe("127.0.0.1:"+args[1], &fakeServer{})
}

// TestServeLoad asks each client's prompt to be of the right length and its own, in
// every round.
func TestServeLoad(t *testing.T) {
	for _, s := range []*fakeServer{{}, {uncount: true}} {
		web := httptest.NewServer(s)
		defer web.Close()
		var out bytes.Buffer
		if err := run([]string{"-serve", web.URL, "-clients", "3", "-serve-in", "40", "-serve-out", "5", "-r", "2", "-json"}, &out); err != nil {
			t.Fatal(err)
		}
		first := map[int32]bool{}
		for _, p := range s.prompts {
			if len(p) != 40 || first[p[0]] {
				t.Errorf("a prompt of %d tokens from %d, of others that begin with %v", len(p), p[0], first)
			}
			first[p[0]] = true
		}
		if len(first) != 6 {
			t.Errorf("%d prompts, want 6", len(first))
		}
		var names []string
		for line := range bytes.Lines(out.Bytes()) {
			var a alone
			if err := json.Unmarshal(line, &a); err != nil || !(a.Ours.Median > 0) && !strings.HasPrefix(a.Test, "TPOT") {
				t.Errorf("%s: %v", line, err)
			}
			names = append(names, a.Test)
		}
		if got, want := strings.Join(names, ", "), "serve, TTFT mean, TTFT p50, TTFT p99, TPOT mean, TPOT p99"; got != want {
			t.Errorf("figures %s, want %s", got, want)
		}
	}
}

// TestServeWarm asks that all prompts share the prefix, and nothing behind it.
func TestServeWarm(t *testing.T) {
	s := &fakeServer{}
	web := httptest.NewServer(s)
	defer web.Close()
	if err := run([]string{"-serve", web.URL, "-serve-test", "ttft-warm", "-prefix", "100", "-warm-times", "3", "-r", "1", "-json"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(s.prompts) != 4 {
		t.Fatalf("%d prompts, want 4", len(s.prompts))
	}
	tails := map[int32]bool{}
	for _, p := range s.prompts {
		if len(p) != 100+warmTail || fmt.Sprint(p[:100]) != fmt.Sprint(s.prompts[0][:100]) || tails[p[100]] {
			t.Errorf("prompt %v", p)
		}
		tails[p[100]] = true
	}
}

func TestServeFaults(t *testing.T) {
	short := httptest.NewServer(&fakeServer{short: true})
	defer short.Close()
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-serve", short.URL, "-serve-out", "5"}, "4 tokens were answered, 5 were asked for"},
		{[]string{"-serve", none.URL}, "/v1/models answers 404"},
		{[]string{"-serve", none.URL, "-serve-test", "x"}, "-serve-test has"},
		{[]string{"-serve", none.URL, "-serve-cmd", "x {port}"}, "exclude each other"},
		{[]string{"-serve-cmd", "x"}, "{port}"},
		{[]string{"-serve-cmd", os.Args[0] + " fake-nothing {port}"}, "ended before it served"},
	} {
		if err := run(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
	for _, stream := range []string{"", "data: {\n", "data: {\"error\":{\"message\":\"no\"}}\n", "data: [DONE]\n"} {
		if err := (&reply{}).read(strings.NewReader(stream)); err == nil {
			t.Errorf("%q was taken for an answer", stream)
		}
	}
}

// TestServeCommands starts both servers for each run, in pairs.
func TestServeCommands(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseFlags([]string{"-threads", "1", "-serve-cmd", self + " fake-server {port}", "-serve-cmd", self + " fake-server {port}", "-clients", "2", "-serve-out", "3", "-pairs", "1", "-steady", "1"})
	if err != nil {
		t.Fatal(err)
	}
	var list []comparison
	if err := measureServe(context.Background(), c, func(v any) error { list = append(list, v.(comparison)); return nil }, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(list) < 6 || list[0].Test != "serve" || list[0].Unit != tokensPerSecond || !(list[0].Ratio.Median > 0) || list[0].Pairs != 1 || list[0].Setting != "theirs" {
		t.Errorf("%+v", list)
	}
}
