package conformance

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/metrics"
)

// rig is the embedded model behind the API, with its page and events, in the test's
// own process.
type rig struct {
	eng    *paddock.Engine
	rec    *metrics.Recorder
	mux    *http.ServeMux
	target string // its address
	client *openai.Client
}

// newRig serves until the test ends; then the page is held to the strict parser.
func newRig(t *testing.T, o paddock.Options, h paddock.HandlerOptions, r metrics.RecorderOptions) *rig {
	t.Helper()
	rig := &rig{rec: metrics.NewRecorder(r), mux: http.NewServeMux()}
	o.Name, o.Metrics = "demo", rig.rec
	var err error
	if rig.eng, err = paddock.OpenFS(demo.Files, demo.Name, o); err != nil {
		t.Fatal(err)
	}
	page := metrics.HandlerOptions{Recorder: rig.rec, VLLM: true, Runtime: true}
	rig.mux.Handle("/", paddock.NewHandlerWith(rig.eng, h))
	rig.mux.Handle("/metrics", metrics.HandlerFor(page))
	rig.mux.Handle("/api/", metrics.APIHandler(page))
	server := httptest.NewServer(rig.mux)
	rig.target = strings.TrimPrefix(server.URL, "http://")
	client := openai.NewClient(
		option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("sesame"), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()),
	)
	rig.client = &client
	t.Cleanup(func() {
		checkOpenMetrics(t, server.URL+"/metrics")
		server.Close()
		rig.eng.Close()
	})
	return rig
}

// serve is a rig for tests of the API alone.
func serve(t *testing.T, o paddock.Options, h paddock.HandlerOptions) (*paddock.Engine, *openai.Client) {
	t.Helper()
	r := newRig(t, o, h, metrics.RecorderOptions{})
	return r.eng, r.client
}

const question = "Hello! Can you please tell me: what does paddock_kv_pages_used count?"

// chat are the parameters of a greedy question.
func chat(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "demo", Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage(text)},
	}
}

func TestModels(t *testing.T) {
	_, client := serve(t, paddock.Options{}, paddock.HandlerOptions{Names: []string{"demo", "other/name"}})
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != 2 || page.Data[0].ID != "demo" || page.Data[1].ID != "other/name" || page.Data[0].OwnedBy != "paddock" || page.Data[0].Created == 0 {
		t.Errorf("%+v", page.Data)
	}
	if m, err := client.Models.Get(t.Context(), "demo"); err != nil || m.ID != "demo" {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = client.Models.Get(t.Context(), "gpt")
	wantError(t, err, 404, "model_not_found", "model", "gpt")
}

// wantError checks that err is the client's error with a status, code and field,
// and that its message says something.
func wantError(t *testing.T, err error, status int, code, param, says string) *openai.Error {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T), want the client's error", err, err)
	}
	if e.StatusCode != status || e.Code != code || e.Param != param || e.Type == "" || !strings.Contains(e.Message, says) {
		t.Errorf("status %d, code %q, param %q, type %q, %q; want %d, %q, %q, …%s…", e.StatusCode, e.Code, e.Param, e.Type, e.Message, status, code, param, says)
	}
	return e
}

func TestChat(t *testing.T) {
	eng, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	want, err := eng.Complete(t.Context(), paddock.Request{Messages: []paddock.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: question}}})
	if err != nil {
		t.Fatal(err)
	}
	cached := (want.Usage.PromptTokens - 1) / 16 * 16
	checkUsage := func(u openai.CompletionUsage) {
		t.Helper()
		if int(u.PromptTokens) != want.Usage.PromptTokens || int(u.CompletionTokens) != want.Usage.GeneratedTokens ||
			u.TotalTokens != u.PromptTokens+u.CompletionTokens || int(u.PromptTokensDetails.CachedTokens) != cached {
			t.Errorf("usage %s, want %+v with %d cached", u.RawJSON(), want.Usage, cached)
		}
	}
	got, err := client.Chat.Completions.New(t.Context(), chat(question))
	if err != nil {
		t.Fatal(err)
	}
	c := got.Choices[0]
	if c.Message.Content != want.Text || c.Message.Role != "assistant" || c.FinishReason != "stop" || got.Model != "demo" || got.Object != "chat.completion" {
		t.Errorf("%s, want %q", got.RawJSON(), want.Text)
	}
	checkUsage(got.Usage)

	for _, include := range []bool{true, false} {
		p := chat(question)
		if include {
			p.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		stream := client.Chat.Completions.NewStreaming(t.Context(), p)
		acc, first, usages := openai.ChatCompletionAccumulator{}, true, 0
		for stream.Next() {
			chunk := stream.Current()
			if first && (len(chunk.Choices) != 1 || chunk.Choices[0].Delta.Role != "assistant") {
				t.Errorf("the first chunk is %s", chunk.RawJSON())
			}
			first = false
			if chunk.JSON.Usage.Valid() {
				usages++
				checkUsage(chunk.Usage)
			}
			if !acc.AddChunk(chunk) {
				t.Errorf("the client can't add %s", chunk.RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if c := acc.Choices[0]; c.Message.Content != want.Text || c.FinishReason != "stop" {
			t.Errorf("streamed %q, %s", c.Message.Content, c.FinishReason)
		}
		if (usages == 1) != include || usages > 1 {
			t.Errorf("include_usage %v: %d chunks have a usage", include, usages)
		}
	}
}

func TestChatChoicesStopSeedAndLogprobs(t *testing.T) {
	_, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	p := chat("Tell me a story.")
	p.N, p.Temperature, p.Seed, p.MaxCompletionTokens = openai.Int(3), openai.Float(1.2), openai.Int(11), openai.Int(20)
	p.Logprobs, p.TopLogprobs = openai.Bool(true), openai.Int(2)
	first, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Choices) != 3 || first.Choices[0].Message.Content == first.Choices[1].Message.Content && first.Choices[1].Message.Content == first.Choices[2].Message.Content {
		t.Errorf("3 choices with a seed: %s", first.RawJSON())
	}
	tokens := 0
	for i, c := range first.Choices {
		if a := again.Choices[i]; int(c.Index) != i || a.Message.Content != c.Message.Content || a.FinishReason != c.FinishReason {
			t.Errorf("choice %d: %q, then with the same seed %q", i, c.Message.Content, a.Message.Content)
		}
		text := ""
		for k, l := range c.Logprobs.Content {
			text += l.Token
			if l.Logprob > 0 || len(l.TopLogprobs) != 2 || l.TopLogprobs[0].Logprob < l.TopLogprobs[1].Logprob || string(bytesOf(l.Bytes)) != l.Token {
				t.Errorf("choice %d, token %d: %s", i, k, l.RawJSON())
			}
			if a := again.Choices[i].Logprobs.Content[k]; a.Logprob != l.Logprob {
				t.Errorf("choice %d, token %d: %v, then %v", i, k, l.Logprob, a.Logprob)
			}
		}
		if text != c.Message.Content {
			t.Errorf("choice %d: the logprobs spell %q, the message %q", i, text, c.Message.Content)
		}
		tokens += len(c.Logprobs.Content)
		if c.FinishReason == "stop" {
			tokens++
		}
	}
	if int(first.Usage.CompletionTokens) != tokens {
		t.Errorf("usage has %d tokens, the choices %d", first.Usage.CompletionTokens, tokens)
	}

	full, err := client.Chat.Completions.New(t.Context(), chat(question))
	if err != nil {
		t.Fatal(err)
	}
	text := full.Choices[0].Message.Content
	p = chat(question)
	p.Stop.OfStringArray = []string{text[8:11], "never said"}
	cut, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := text[:strings.Index(text, text[8:11])]; cut.Choices[0].Message.Content != want || cut.Choices[0].FinishReason != "stop" {
		t.Errorf("stopped at %q, want %q", cut.Choices[0].Message.Content, want)
	}
	p = chat(question)
	p.MaxTokens = openai.Int(2)
	if short, err := client.Chat.Completions.New(t.Context(), p); err != nil || short.Choices[0].FinishReason != "length" || short.Usage.CompletionTokens != 2 {
		t.Errorf("%+v, %v", short, err)
	}
}

func bytesOf(list []int64) []byte {
	var out []byte
	for _, b := range list {
		out = append(out, byte(b))
	}
	return out
}

func TestCompletions(t *testing.T) {
	eng, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	const text = "paddock counts"
	want, err := eng.Complete(t.Context(), paddock.Request{Prompt: text, MaxTokens: 12, Logprobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := eng.Tokenize(text, true)
	if err != nil {
		t.Fatal(err)
	}
	var tokens []int64
	for _, id := range ids {
		tokens = append(tokens, int64(id))
	}
	for name, prompt := range map[string]openai.CompletionNewParamsPromptUnion{
		"string": {OfString: openai.String(text)}, "strings": {OfArrayOfStrings: []string{text}},
		"tokens": {OfArrayOfTokens: tokens}, "arrays of tokens": {OfArrayOfTokenArrays: [][]int64{tokens}},
	} {
		p := openai.CompletionNewParams{Model: "demo", Prompt: prompt, MaxTokens: openai.Int(12), Temperature: openai.Float(0), Logprobs: openai.Int(2)}
		got, err := client.Completions.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		c := got.Choices[0]
		if c.Text != want.Text || string(c.FinishReason) != want.Finish.String() || int(got.Usage.CompletionTokens) != want.Usage.GeneratedTokens {
			t.Errorf("%s: %s, want %q", name, got.RawJSON(), want.Text)
		}
		for i, lp := range c.Logprobs.TokenLogprobs {
			if float32(lp) != want.Choices[0].Tokens[i].Logprob || len(c.Logprobs.TopLogprobs[i]) != 2 {
				t.Errorf("%s: token %d has %v, want %v", name, i, lp, want.Choices[0].Tokens[i].Logprob)
			}
		}
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Completions.NewStreaming(t.Context(), p)
		streamed, finish, usage := "", "", int64(0)
		for stream.Next() {
			chunk := stream.Current()
			usage += chunk.Usage.CompletionTokens
			for _, c := range chunk.Choices {
				streamed += c.Text
				finish += string(c.FinishReason)
			}
		}
		if err := stream.Err(); err != nil || streamed != want.Text || finish != want.Finish.String() || int(usage) != want.Usage.GeneratedTokens {
			t.Errorf("%s: streamed %q, %s, %d tokens, %v", name, streamed, finish, usage, err)
		}
	}
	_, err = client.Completions.New(t.Context(), openai.CompletionNewParams{Model: "demo", Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"a", "b"}}})
	wantError(t, err, 400, "", "prompt", "2 prompts")
}

func TestErrors(t *testing.T) {
	_, client := serve(t, paddock.Options{MaxContext: 256}, paddock.HandlerOptions{Key: "sesame"})
	ctx := t.Context()
	ask := func(change func(*openai.ChatCompletionNewParams), opts ...option.RequestOption) error {
		p := chat("hi")
		p.MaxTokens = openai.Int(1)
		change(&p)
		_, err := client.Chat.Completions.New(ctx, p, opts...)
		return err
	}
	nothing := func(*openai.ChatCompletionNewParams) {}
	if err := ask(nothing); err != nil {
		t.Error(err)
	}
	e := wantError(t, ask(func(p *openai.ChatCompletionNewParams) {
		p.Messages[1] = openai.UserMessage(strings.Repeat("one two three ", 300))
	}), 400, "context_length_exceeded", "messages", "256")
	if e.Response.Header.Get("X-Request-Id") == "" {
		t.Error("no x-request-id")
	}
	wantError(t, ask(func(p *openai.ChatCompletionNewParams) { p.MaxTokens = openai.Int(250) }), 400, "context_length_exceeded", "messages", "250")
	wantError(t, ask(func(p *openai.ChatCompletionNewParams) { p.Model = "gpt" }), 404, "model_not_found", "model", "demo")
	wantError(t, ask(func(p *openai.ChatCompletionNewParams) { p.N = openai.Int(129) }), 400, "", "n", "128")
	wantError(t, ask(nothing, option.WithJSONSet("surprise", 1)), 400, "", "surprise", "not known")
	wantError(t, ask(func(p *openai.ChatCompletionNewParams) {
		p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "f"})}
	}), 400, "", "tools", "no place for them")
	far := option.WithHeader("X-Forwarded-For", "10.0.0.1")
	if err := ask(nothing, far); err != nil {
		t.Errorf("from elsewhere with the key: %v", err)
	}
	wantError(t, ask(nothing, far, option.WithAPIKey("wrong")), 401, "invalid_api_key", "", "Bearer")
	stream := client.Chat.Completions.NewStreaming(ctx, chat("hi"), far, option.WithAPIKey("wrong"))
	if stream.Next() {
		t.Error("a stream without the key")
	}
	wantError(t, stream.Err(), 401, "invalid_api_key", "", "Bearer")
}

func TestQueueFull(t *testing.T) {
	eng, client := serve(t, paddock.Options{Limits: paddock.Limits{MaxSequences: 1, MaxQueue: 1}}, paddock.HandlerOptions{})
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var err error
	for err == nil { // until the client finds the queue as full as it was a moment ago
		for full := (*paddock.QueueFullError)(nil); !errors.As(err, &full); {
			_, err = eng.Submit(ctx, paddock.Request{Prompt: "a", IgnoreEOS: true, MaxTokens: 1900})
		}
		_, err = client.Chat.Completions.New(t.Context(), chat("hi"))
	}
	e := wantError(t, err, 429, "queue_full", "", "1")
	if e.Type != "rate_limit_error" || e.Response.Header.Get("Retry-After") == "" {
		t.Errorf("type %q, Retry-After %q", e.Type, e.Response.Header.Get("Retry-After"))
	}
	// The client knows what to do with it: wait, and try again.
	hangUp()
	if _, err := client.Chat.Completions.New(t.Context(), chat("hi"), option.WithMaxRetries(3)); err != nil {
		t.Error(err)
	}
}

// TestErrorInTheStream: what fails after the reply has begun reaches the client as
// an error, not as an end.
func TestErrorInTheStream(t *testing.T) {
	eng, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	stream := client.Completions.NewStreaming(t.Context(), openai.CompletionNewParams{
		Model: "demo", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("a")}, MaxTokens: openai.Int(1900),
	}, option.WithJSONSet("ignore_eos", true))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	for stream.Next() {
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("the stream ends with %v", err)
	}
}

// TestRequestID: the client's own id comes back.
func TestRequestID(t *testing.T) {
	_, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	var res *http.Response
	if _, err := client.Models.List(t.Context(), option.WithHeader("X-Request-Id", "mine-1"), option.WithResponseInto(&res)); err != nil {
		t.Fatal(err)
	}
	if id := res.Header.Get("X-Request-Id"); id != "mine-1" {
		t.Errorf("x-request-id %q", id)
	}
}
