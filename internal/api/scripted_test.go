package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/scripted"
	"github.com/paddock-go/paddock/metrics"
)

// openScripted serves a model that always answers the same.
func openScripted(t testing.TB, m scripted.Model) *engine.Engine {
	t.Helper()
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.OpenFS(fstest.MapFS{"m.gguf": {Data: file}}, "m.gguf", engine.Options{
		Name: "demo", Threads: 1, KVPages: 640, Metrics: metrics.NewRecorder(metrics.RecorderOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// hermes writes calls as JSON in tags, and shows reasoning.
const hermes = `{% for t in tools or [] %}{{ t | tojson }}
{% endfor %}{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}
{% endfor %}<|assistant|>{% if think %}<think>
{% endif %}`

const weatherTools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

// twoCalls is an answer with reasoning, text and two calls, whose tags are control
// tokens of the vocabulary.
var twoCalls = scripted.Model{
	Template: hermes, Control: []string{"<tool_call>", "</tool_call>"},
	Answer: []string{
		"<think>", "hm", " hm", "</think>", "\n\n", "I", " look.\n", "<tool_call>", "\n{\"name\": \"wea", "ther\", \"arguments\"", ": {\"b\": 48.0, \"a\":", " 1e-07}}\n", "</tool_call>",
		"\n ", "<tool", "_call>", "{\"name\":\"weather\"", "}", "</tool", "_call> ", // no control tokens
	},
}

// streamed is a stream of chunks put together as the official client does it.
type streamed struct {
	content, reasoning string
	calls              []toolCall
	finish             string
	logprobs           []string
	usage              *usage
}

func readStream(t *testing.T, body string) (s streamed) {
	t.Helper()
	list := events(t, strings.NewReader(body))
	for _, e := range list[:len(list)-1] {
		c := parsed[struct {
			Choices []chatChunkChoice `json:"choices"`
			Usage   *usage            `json:"usage"`
		}](t, e)
		s.usage = c.Usage
		for _, ch := range c.Choices {
			if ch.Delta.Content != nil {
				s.content += *ch.Delta.Content
			}
			s.reasoning += ch.Delta.Reasoning
			for _, call := range ch.Delta.ToolCalls {
				switch {
				case *call.Index == len(s.calls):
					s.calls = append(s.calls, call)
				case *call.Index == len(s.calls)-1 && call.ID == "" && call.Function.Name == "":
					s.calls[*call.Index].Function.Arguments += call.Function.Arguments
				default:
					t.Errorf("a call out of turn: %+v", call)
				}
			}
			if ch.Finish != nil {
				s.finish = *ch.Finish
			}
			if ch.Logprobs != nil {
				for _, l := range ch.Logprobs.Content {
					s.logprobs = append(s.logprobs, l.Token)
				}
			}
		}
	}
	return s
}

// TestToolCalls: an answer's calls, reasoning and content, whole and streamed; the
// tokens, their logprobs and the counts are those of the same request without tools.
func TestToolCalls(t *testing.T) {
	h := New(openScripted(t, twoCalls), Options{})
	tokens := len(twoCalls.Answer) + 1 // and the end
	for _, c := range []struct {
		name, fields               string
		content, reasoning, finish string
		calls                      []string
	}{
		{"plain", "", "<think>hm hm</think>\n\nI look.\n\n{\"name\": \"weather\", \"arguments\": {\"b\": 48.0, \"a\": 1e-07}}\n\n <tool_call>{\"name\":\"weather\"}</tool_call> ", "", "stop", nil},
		{"tools", weatherTools, "<think>hm hm</think>\n\nI look.", "", "tool_calls", []string{`{"b": 48.0, "a": 1e-07}`, "{}"}},
		{"tools and reasoning", weatherTools + `,"reasoning_format":"auto"`, "I look.", "hm hm", "tool_calls", []string{`{"b": 48.0, "a": 1e-07}`, "{}"}},
		{"reasoning", `"reasoning_format":"deepseek"`, "I look.\n\n{\"name\": \"weather\", \"arguments\": {\"b\": 48.0, \"a\": 1e-07}}\n\n <tool_call>{\"name\":\"weather\"}</tool_call> ", "hm hm", "stop", nil},
		{"no choice", weatherTools + `,"tool_choice":"none","reasoning_format":"none"`, "<think>hm hm</think>\n\nI look.\n\n{\"name\": \"weather\", \"arguments\": {\"b\": 48.0, \"a\": 1e-07}}\n\n <tool_call>{\"name\":\"weather\"}</tool_call> ", "", "stop", nil},
		{"cut", weatherTools + `,"max_tokens":17`, "<think>hm hm</think>\n\nI look.<tool_call>{\"name\":\"weather\"", "", "length", []string{`{"b": 48.0, "a": 1e-07}`}},
		{"stopped", weatherTools + `,"stop":["ther"]`, "<think>hm hm</think>\n\nI look.\n<tool_call>\n{\"name\": \"wea", "", "stop", nil},
	} {
		fields := []string{`"temperature":0`, `"logprobs":true`}
		if c.fields != "" {
			fields = append(fields, c.fields)
		}
		w := do(h, "POST", "/v1/chat/completions", chatBody("hi", fields...))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d: %s", c.name, w.Code, w.Body)
			continue
		}
		r := parsed[chatReply](t, w.Body.String())
		m := r.Choices[0].Message
		content := ""
		if m.Content != nil {
			content = *m.Content
		}
		if content != c.content || m.Reasoning != c.reasoning || *r.Choices[0].Finish != c.finish || len(m.ToolCalls) != len(c.calls) {
			t.Errorf("%s: content %q, reasoning %q, finish %s, %d calls", c.name, content, m.Reasoning, *r.Choices[0].Finish, len(m.ToolCalls))
			continue
		}
		for i, call := range m.ToolCalls {
			if len(call.ID) != 9 || call.Type != "function" || call.Function.Name != "weather" || call.Function.Arguments != c.calls[i] || call.Index != nil {
				t.Errorf("%s: call %d is %+v", c.name, i, call)
			}
		}
		if want := tokens; c.finish != "length" && c.name != "stopped" && r.Usage.CompletionTokens != want {
			t.Errorf("%s: %d tokens, want %d", c.name, r.Usage.CompletionTokens, want)
		}
		s := readStream(t, do(h, "POST", "/v1/chat/completions", chatBody("hi", append(fields, `"stream":true`, `"stream_options":{"include_usage":true}`)...)).Body.String())
		if s.content != content || s.reasoning != m.Reasoning || s.finish != c.finish || len(s.calls) != len(m.ToolCalls) || s.usage.CompletionTokens != r.Usage.CompletionTokens {
			t.Errorf("%s, streamed: %+v", c.name, s)
			continue
		}
		for i, call := range s.calls {
			if call.Type != "function" || call.ID == "" || call.Function != m.ToolCalls[i].Function {
				t.Errorf("%s, streamed: call %d is %+v", c.name, i, call)
			}
		}
		var logprobs []string
		for _, l := range r.Choices[0].Logprobs.Content {
			logprobs = append(logprobs, l.Token)
		}
		if fmt.Sprint(logprobs) != fmt.Sprint(s.logprobs) || c.finish != "length" && c.name != "stopped" && len(logprobs) != tokens-1 {
			t.Errorf("%s: logprobs %q, streamed %q", c.name, logprobs, s.logprobs)
		}
	}
}

// TestCallsAlone: content beside calls is null when there is none.
func TestCallsAlone(t *testing.T) {
	m := twoCalls
	m.Answer = m.Answer[7:13]
	w := do(New(openScripted(t, m), Options{}), "POST", "/v1/chat/completions", chatBody("hi", weatherTools))
	if !strings.Contains(w.Body.String(), `"content":null,"refusal":null,"tool_calls":[{"id":"`) {
		t.Errorf("%s", w.Body)
	}
}

// TestReasoningThatThePromptBegan: the template opens the reasoning by itself when it
// is told to.
func TestReasoningThatThePromptBegan(t *testing.T) {
	m := scripted.Model{Template: hermes, Answer: []string{"hm", " \n", "</think>", "\n\n", "yes"}}
	h := New(openScripted(t, m), Options{})
	for args, want := range map[string]string{"true": "hm/yes", "false": "/hm \n</think>\n\nyes"} {
		w := do(h, "POST", "/v1/chat/completions", chatBody("hi", `"reasoning_format":"auto"`, `"chat_template_kwargs":{"think":`+args+`}`))
		c := parsed[chatReply](t, w.Body.String()).Choices
		if len(c) != 1 || c[0].Message.Reasoning+"/"+*c[0].Message.Content != want {
			t.Errorf("think %s: %s", args, w.Body)
		}
	}
}

// TestToolsRefused: what can't be kept is refused by name, and nothing is ignored.
func TestToolsRefused(t *testing.T) {
	reads := New(openScripted(t, scripted.Model{Template: hermes}), Options{})
	plain := New(openScripted(t, scripted.Model{Template: "{% for m in messages %}{{ m.content }}{% endfor %}"}), Options{})
	odd := New(openScripted(t, scripted.Model{Template: "{{ tools }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}!{{ c.function.name }}!{% endfor %}{% endfor %}"}), Options{})
	for _, c := range []struct {
		h             http.Handler
		fields, param string
	}{
		{plain, weatherTools, "tools"}, {odd, weatherTools, "tools"},
		{reads, weatherTools + `,"parallel_tool_calls":false`, "parallel_tool_calls"},
		{plain, `"reasoning_effort":"low"`, "reasoning_effort"},
		{plain, `"chat_template_kwargs":{"enable_thinking":false}`, "chat_template_kwargs.enable_thinking"},
		{plain, `"documents":[{"text":"x"}]`, "documents"},
		{plain, `"add_generation_prompt":false`, "add_generation_prompt"},
		{plain, `"reasoning_format":"x"`, "reasoning_format"},
	} {
		w := do(c.h, "POST", "/v1/chat/completions", chatBody("hi", c.fields))
		if message, _, _, param := errorOf(t, w); w.Code != 400 || param != c.param {
			t.Errorf("%s: %d %s: %s", c.fields, w.Code, param, message)
		}
	}
	for h, fields := range map[http.Handler]string{
		reads: weatherTools + `,"parallel_tool_calls":true,"tool_choice":"auto"`, odd: weatherTools + `,"tool_choice":"none"`, plain: `"tools":[],"parallel_tool_calls":false,"add_generation_prompt":true`,
	} {
		if w := do(h, "POST", "/v1/chat/completions", chatBody("hi", fields)); w.Code != 200 {
			t.Errorf("%s: %d %s", fields, w.Code, w.Body)
		}
	}
}
