package api

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/metrics"
)

// question has an answer of the demo model of some dozen tokens.
const question = "Hello! Can you please tell me: what does paddock_kv_pages_used count?"

// direct is what the engine answers by itself.
func direct(t *testing.T, e *engine.Engine, r engine.Request) engine.Result {
	t.Helper()
	res, err := e.Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func ask(text string) engine.Request {
	return engine.Request{Messages: []engine.Message{{Role: "user", Content: text}}}
}

func TestChatWhole(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	r := ask(question)
	r.Logprobs, r.MaxTokens = 3, 40
	want := direct(t, e, r)
	w := do(h, "POST", "/v1/chat/completions", chatBody(question, `"temperature":0,"max_tokens":40,"logprobs":true,"top_logprobs":2`), "X-Request-Id", "abc-1")
	if w.Code != 200 || w.Header().Get("X-Request-Id") != "abc-1" || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, %v, %s", w.Code, w.Header(), w.Body)
	}
	got := parsed[chatReply](t, w.Body.String())
	if got.Object != "chat.completion" || got.Model != "demo" || !strings.HasPrefix(got.ID, "chatcmpl-") || len(got.Choices) != 1 {
		t.Errorf("%+v", got)
	}
	c := got.Choices[0]
	if *c.Message.Content != want.Text || c.Message.Role != "assistant" || c.Finish == nil || *c.Finish != want.Finish.String() {
		t.Errorf("%+v, want %q", c, want.Text)
	}
	checkUsage(t, got.Usage, want.Usage)
	checkLogprobs(t, e, c.Logprobs.Content, want.Choices[0])
}

// warm is how much of a prompt that was served before is found in the cache: full
// pages, with one token at least left to compute.
func warm(tokens int) int { return (tokens - 1) / 16 * 16 }

// checkUsage compares a reply's usage with the engine's for the same request,
// which came first.
func checkUsage(t *testing.T, got *usage, want engine.Usage) {
	t.Helper()
	if got == nil {
		t.Fatal("no usage")
	}
	if got.PromptTokens != want.PromptTokens || got.CompletionTokens != want.GeneratedTokens || got.TotalTokens != want.PromptTokens+want.GeneratedTokens {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if n := got.PromptDetails.CachedTokens; n != warm(want.PromptTokens) {
		t.Errorf("%d of %d prompt tokens cached, want %d", n, want.PromptTokens, warm(want.PromptTokens))
	}
}

// checkLogprobs holds the API's logprobs to the engine's, bit by bit.
func checkLogprobs(t *testing.T, e *engine.Engine, got []chatLogprobTop, want engine.Answer) {
	t.Helper()
	tokens := want.Tokens
	if want.Finish == engine.FinishStop {
		tokens = tokens[:len(tokens)-1]
	}
	if len(got) != len(tokens) {
		t.Fatalf("logprobs of %d tokens, want %d", len(got), len(tokens))
	}
	same := func(g chatLogprob, id int32, lp float32) {
		t.Helper()
		bytes := e.TokenBytes(id)
		ok := g.Token == validUTF8(bytes) && len(g.Bytes) == len(bytes) && math.Float32bits(g.Logprob) == math.Float32bits(lp)
		for i := range bytes {
			ok = ok && g.Bytes[i] == int(bytes[i])
		}
		if !ok {
			t.Errorf("%+v, want %q with %v", g, bytes, lp)
		}
	}
	for i, tok := range tokens {
		same(got[i].chatLogprob, tok.ID, tok.Logprob)
		if len(got[i].Top) != len(tok.Top) {
			t.Fatalf("%d alternatives, want %d", len(got[i].Top), len(tok.Top))
		}
		for k, a := range tok.Top {
			same(got[i].Top[k], a.ID, a.Logprob)
		}
	}
}

func TestChatStream(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	r := ask(question)
	r.Logprobs, r.N, r.MaxTokens, r.Temperature, r.Seed = 1, 3, 12, 1, new(int64(5))
	want := direct(t, e, r)
	for _, includeUsage := range []bool{true, false} {
		w := do(h, "POST", "/v1/chat/completions", chatBody(question,
			`"stream":true,"n":3,"seed":5,"max_completion_tokens":12,"logprobs":true`, fmt.Sprintf(`"stream_options":{"include_usage":%v}`, includeUsage)))
		if ct := w.Header().Get("Content-Type"); w.Code != 200 || ct != "text/event-stream" {
			t.Fatalf("status %d, type %s: %s", w.Code, ct, w.Body)
		}
		list := events(t, w.Body)
		if list[len(list)-1] != "[DONE]" {
			t.Fatalf("the last event is %s", list[len(list)-1])
		}
		list = list[:len(list)-1]
		if includeUsage {
			last := parsed[struct {
				Choices []int
				Usage   *usage
			}](t, list[len(list)-1])
			list = list[:len(list)-1]
			if last.Choices == nil || len(last.Choices) != 0 {
				t.Error("the chunk of the usage has no empty choices")
			}
			checkUsage(t, last.Usage, want.Usage)
		}
		texts, roles, ends, logprobs := [3]string{}, [3]bool{}, [3]string{}, [3][]chatLogprobTop{}
		for i, data := range list {
			if hasNull := strings.Contains(data, `"usage":null`); hasNull != includeUsage {
				t.Errorf("include_usage %v: %s", includeUsage, data)
			}
			c := parsed[chatChunk](t, data)
			if c.Object != "chat.completion.chunk" || c.Model != "demo" || len(c.Choices) != 1 {
				t.Fatalf("%+v", c)
			}
			ch := c.Choices[0]
			if (ch.Delta.Role == "assistant") != (i < 3) {
				t.Errorf("event %d has the role %q", i, ch.Delta.Role)
			}
			if ch.Delta.Role != "" {
				roles[ch.Index] = true
			}
			if ends[ch.Index] != "" {
				t.Error("an event follows the end of its choice")
			}
			if ch.Delta.Content != nil {
				texts[ch.Index] += *ch.Delta.Content
			}
			if ch.Logprobs != nil {
				logprobs[ch.Index] = append(logprobs[ch.Index], ch.Logprobs.Content...)
			}
			if ch.Finish != nil {
				ends[ch.Index] = *ch.Finish
			}
		}
		for i, a := range want.Choices {
			if texts[i] != a.Text || !roles[i] || ends[i] != a.Finish.String() {
				t.Errorf("choice %d: %q, %q, want %q, %v", i, texts[i], ends[i], a.Text, a.Finish)
			}
			checkLogprobs(t, e, logprobs[i], a)
		}
	}
}

func TestCompletionWholeAndStream(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	const text = "paddock counts"
	want := direct(t, e, engine.Request{Prompt: text, MaxTokens: 16, Logprobs: 4})
	ids, err := e.Tokenize(text, true)
	if err != nil {
		t.Fatal(err)
	}
	w := do(h, "POST", "/v1/completions", promptBody(text, `"temperature":0,"logprobs":3`))
	whole := parsed[struct {
		completionReply
		Usage *usage `json:"usage"`
	}](t, w.Body.String())
	c := whole.Choices[0]
	if whole.Object != "text_completion" || c.Text != want.Text || *c.Finish != "length" && *c.Finish != "stop" {
		t.Errorf("%+v, want %q", whole, want.Text)
	}
	checkUsage(t, whole.Usage, want.Usage)
	l, offset := c.Logprobs, 0
	for i, tok := range want.Choices[0].Tokens {
		if !shown(tok) {
			continue
		}
		if l.Logprobs[i] != tok.Logprob || l.Tokens[i] != string(e.TokenBytes(tok.ID)) || l.Offsets[i] != offset || len(l.Top[i]) != 3 {
			t.Errorf("token %d: %v %q at %d, want %v %q at %d", i, l.Logprobs[i], l.Tokens[i], l.Offsets[i], tok.Logprob, e.TokenBytes(tok.ID), offset)
		}
		if top := l.Top[i][string(e.TokenBytes(tok.Top[0].ID))]; top != tok.Top[0].Logprob {
			t.Errorf("token %d: the likeliest has %v, want %v", i, top, tok.Top[0].Logprob)
		}
		offset += len([]rune(string(e.TokenBytes(tok.ID))))
	}
	if len(l.Tokens) != len(l.Offsets) || len(l.Tokens) != len(l.Top) {
		t.Errorf("%d tokens, %d offsets, %d alternatives", len(l.Tokens), len(l.Offsets), len(l.Top))
	}

	// The same, streamed, from token ids.
	body := fmt.Sprintf(`{"model":"demo","prompt":[%s],"temperature":0,"stream":true,"logprobs":3,"stream_options":{"include_usage":true}}`, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]"))
	list := events(t, do(h, "POST", "/v1/completions", body).Body)
	got, tokens, end := "", 0, ""
	for _, data := range list[:len(list)-2] {
		ch := parsed[completionReply](t, data).Choices[0]
		got += ch.Text
		if ch.Logprobs != nil {
			for _, o := range ch.Logprobs.Offsets {
				if o != l.Offsets[tokens] {
					t.Errorf("token %d at %d, want %d", tokens, o, l.Offsets[tokens])
				}
				tokens++
			}
		}
		if ch.Finish != nil {
			end = *ch.Finish
		}
	}
	if got != c.Text || end != *c.Finish || tokens != len(l.Tokens) {
		t.Errorf("streamed %q, %d tokens, %s; want %q, %d, %s", got, tokens, end, c.Text, len(l.Tokens), *c.Finish)
	}
	last := parsed[struct{ Usage *usage }](t, list[len(list)-2])
	checkUsage(t, last.Usage, want.Usage)
}

// TestFinishReasons has each way to end: by itself, at a limit, at a stop string.
func TestFinishReasons(t *testing.T) {
	e := open(t, engine.Options{})
	h := New(e, Options{})
	full := direct(t, e, ask(question))
	if full.Finish != engine.FinishStop || len(full.Text) < 20 {
		t.Fatalf("the demo model answers %q (%v): the test needs a longer answer that ends", full.Text, full.Finish)
	}
	cut := full.Text[10:14]
	at := strings.Index(full.Text, cut)
	for _, c := range []struct{ fields, text, finish, counted string }{
		{`"user":"x"`, full.Text, "stop", "stop"},
		{`"stop":["` + cut + `","never said"]`, full.Text[:at], "stop", "stop_sequence"},
		{`"max_tokens":2`, direct(t, e, engine.Request{Messages: ask(question).Messages, MaxTokens: 2}).Text, "length", "length"},
	} {
		for _, stream := range []bool{false, true} {
			before := sum(page(t, e.Metrics()), "paddock_request_success_total", "finish_reason", c.counted)
			w := do(h, "POST", "/v1/chat/completions", chatBody(question, `"temperature":0`, fmt.Sprintf(`"stream":%v`, stream), c.fields))
			text, finish := answerOf(t, w.Body.String(), stream)
			if text != c.text || finish != c.finish {
				t.Errorf("%s: %q, %s; want %q, %s", c.fields, text, finish, c.text, c.finish)
			}
			if n := sum(page(t, e.Metrics()), "paddock_request_success_total", "finish_reason", c.counted) - before; n != 1 {
				t.Errorf("%s: %v more successes with %s", c.fields, n, c.counted)
			}
		}
	}
}

// answerOf is the text and finish reason of a chat reply's only choice.
func answerOf(t testing.TB, body string, stream bool) (text, finish string) {
	t.Helper()
	if !stream {
		c := parsed[chatReply](t, body).Choices[0]
		return *c.Message.Content, *c.Finish
	}
	for _, data := range events(t, strings.NewReader(body)) {
		if data == "[DONE]" {
			break
		}
		c := parsed[chatChunk](t, data)
		if len(c.Choices) == 0 {
			continue
		}
		if d := c.Choices[0].Delta.Content; d != nil {
			text += *d
		}
		if f := c.Choices[0].Finish; f != nil {
			finish = *f
		}
	}
	return text, finish
}

// TestModelWithoutTemplate is refused by name; the prompt route serves it.
func TestModelWithoutTemplate(t *testing.T) {
	h := New(openGolden(t, "qwen2.gguf", engine.Options{}), Options{Names: []string{"demo"}})
	w := do(h, "POST", "/v1/chat/completions", chatBody("hi"))
	if w.Code == 200 {
		t.Fatalf("status 200: %s", w.Body)
	}
	if message, _, _, param := errorOf(t, w); w.Code != 400 || param != "messages" || !strings.Contains(message, "template") {
		t.Errorf("status %d, param %q: %s", w.Code, param, message)
	}
}

// TestTemplateThatFails: a template that refuses, or can't go on, is an error and
// never another template's text. The file is the demo model with another template
// of the same length in its place.
func TestTemplateThatFails(t *testing.T) {
	file, err := demo.Files.ReadFile(demo.Name)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "{% for message", `assistant\n' }}{% endif %}`
	at := bytes.Index(file, []byte(begin))
	length := bytes.Index(file[at:], []byte(end)) + len(end)
	for _, template := range []string{
		"{{ raise_exception('roles must take turns') }}",
		"{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
		"{{ messages[0].content.no.such.thing }}",
	} {
		changed := bytes.Clone(file)
		copy(changed[at:], fmt.Sprintf("%-*s", length, template))
		e, err := engine.OpenFS(fstest.MapFS{"m.gguf": {Data: changed}}, "m.gguf", engine.Options{Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		w := do(New(e, Options{Names: []string{"demo"}}), "POST", "/v1/chat/completions", chatBody("hi"))
		if w.Code != 400 {
			t.Errorf("%s: status %d: %s", template, w.Code, w.Body)
		} else if message, _, _, param := errorOf(t, w); param != "messages" || !strings.Contains(message, "template") {
			t.Errorf("%s: param %q: %s", template, param, message)
		}
		e.Close()
	}
}
