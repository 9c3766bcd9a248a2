package conformance

import (
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/internal/scripted"
	"github.com/paddock-go/paddock/metrics"
)

// toolTemplate writes calls as JSON in tags. It prints all that it is given, so that
// the turn that goes back to the model is looked at too.
const toolTemplate = `{{ tools | tojson }}{% for m in messages %}
<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% if m.role == 'tool' %}{% if m.tool_call_id | length != 9 %}{{ raise_exception('id') }}{% endif %}{% endif %}{% endfor %}
<|assistant|>`

// TestTools: the official client gets two calls of a model, whole and through its
// accumulator of a stream, and sends them back with their results.
func TestTools(t *testing.T) {
	file, err := scripted.Model{
		Template: toolTemplate, Control: []string{"<tool_call>", "</tool_call>"},
		Answer: []string{"One", " moment.", "<tool_call>", "\n{\"name\": \"wea", "ther\", \"arguments\": {\"city\": \"Z", "ürich\", \"n\": 48.0", "}}\n", "</tool_call>", "\n<tool", "_call>{\"name\": \"ti", "me\", \"arguments\": ", "{}}</tool", "_call>"},
	}.File()
	if err != nil {
		t.Fatal(err)
	}
	eng, err := paddock.OpenFS(fstest.MapFS{"m.gguf": {Data: file}}, "m.gguf", paddock.Options{Name: "demo", KVPages: 512, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	server := httptest.NewServer(paddock.NewHandler(eng))
	defer server.Close()
	client := openai.NewClient(option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("x"), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))
	params := chat("What is it like in Zürich?")
	for _, name := range []string{"weather", "time"} {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: name, Description: openai.String("tells"), Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}},
		}))
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	finished := 0
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Error("the accumulator takes no chunk")
		}
		if _, ok := acc.JustFinishedToolCall(); ok {
			finished++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if finished != 2 {
		t.Errorf("the accumulator saw %d calls end", finished)
	}
	for _, r := range []*openai.ChatCompletion{&acc.ChatCompletion, whole} {
		c := r.Choices[0]
		if c.FinishReason != "tool_calls" || c.Message.Content != "One moment." || len(c.Message.ToolCalls) != 2 || r.Usage.CompletionTokens != whole.Usage.CompletionTokens || r.Usage.CompletionTokens != 14 { // the answer and its end
			t.Fatalf("%s %q, %d calls, usage %+v", c.FinishReason, c.Message.Content, len(c.Message.ToolCalls), r.Usage)
		}
		for i, want := range [][2]string{{"weather", `{"city": "Zürich", "n": 48.0}`}, {"time", "{}"}} {
			call := c.Message.ToolCalls[i]
			if call.ID == "" || call.Type != "function" || call.Function.Name != want[0] || call.Function.Arguments != want[1] {
				t.Errorf("call %d: %+v", i, call)
			}
		}
		back := params
		back.Messages = append(back.Messages[:len(back.Messages):len(back.Messages)], c.Message.ToParam())
		for _, call := range c.Message.ToolCalls {
			back.Messages = append(back.Messages, openai.ToolMessage("21 °C", call.ID))
		}
		if _, err := client.Chat.Completions.New(t.Context(), back); err != nil {
			t.Errorf("the calls and their results sent back: %v", err)
		}
	}
}
