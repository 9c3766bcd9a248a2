package conformance

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/paddock-go/paddock"
)

// treatment is what the API does with a field of the client's, given a value that
// a program would send.
type treatment struct {
	value  string
	status int // 200: honoured or accepted; 400: refused by name
}

// shared, chatFields and completionFields list every field that the client can
// send. A field that a new version of the client brings fails TestFields until it
// is decided and listed here.
var (
	shared = map[string]treatment{
		"model": {`"demo"`, 200}, "frequency_penalty": {"0.5", 200}, "presence_penalty": {"-0.5", 200}, "logit_bias": {`{"17":-100}`, 200},
		"max_tokens": {"2", 200}, "n": {"2", 200}, "seed": {"7", 200}, "stop": {`["x","y"]`, 200}, "temperature": {"0.3", 200}, "top_p": {"0.9", 200},
		"stream_options": {`{"include_usage":true,"include_obfuscation":false}`, 200}, "user": {`"u"`, 200},
	}
	chatFields = map[string]treatment{
		"messages": {`[{"role":"user","content":"hi"}]`, 200}, "max_completion_tokens": {"2", 200}, "logprobs": {"true", 200}, "top_logprobs": {"3", 200},

		// Accepted without effect.
		"store": {"true", 200}, "metadata": {`{"a":"b"}`, 200}, "service_tier": {`"auto"`, 200}, "safety_identifier": {`"x"`, 200},
		"prompt_cache_key": {`"x"`, 200}, "prompt_cache_retention": {`"24h"`, 200}, "prompt_cache_options": {`{}`, 200},
		"prediction": {`{"type":"content","content":"x"}`, 200}, "parallel_tool_calls": {"true", 200},

		// Refused by name, the first two since this model's template reads neither.
		"reasoning_effort": {`"low"`, 400}, "tools": {`[{"type":"function","function":{"name":"f"}}]`, 400}, "tool_choice": {`"required"`, 400},
		"functions": {`[{"name":"f"}]`, 400}, "function_call": {`{"name":"f"}`, 400}, "response_format": {`{"type":"json_object"}`, 400},
		"modalities": {`["text","audio"]`, 400}, "audio": {`{"voice":"alloy","format":"wav"}`, 400}, "moderation": {`{}`, 400},
		"verbosity": {`"low"`, 400}, "web_search_options": {`{}`, 400},
	}
	completionFields = map[string]treatment{
		"prompt": {`"hi"`, 200}, "logprobs": {"3", 200}, "best_of": {"1", 200},
		"echo": {"true", 400}, "suffix": {`"x"`, 400},
	}
)

// fieldsOf are the names of a parameter struct in JSON.
func fieldsOf(params any) []string {
	var out []string
	for f := range reflect.TypeOf(params).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// TestFields sends each field of the client's parameters and expects what the
// tables say: never that the field is not known.
func TestFields(t *testing.T) {
	eng, _ := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	h := paddock.NewHandler(eng)
	for _, route := range []struct {
		path   string
		params any
		own    map[string]treatment
		base   map[string]string
	}{
		{"/v1/chat/completions", openai.ChatCompletionNewParams{}, chatFields, map[string]string{"model": `"demo"`, "messages": `[{"role":"user","content":"hi"}]`, "max_tokens": "2"}},
		{"/v1/completions", openai.CompletionNewParams{}, completionFields, map[string]string{"model": `"demo"`, "prompt": `"hi"`, "max_tokens": "2"}},
	} {
		fields := fieldsOf(route.params)
		if len(fields) < len(shared)+len(route.own)-1 {
			t.Errorf("%s: the client has %d fields, the tables %d", route.path, len(fields), len(shared)+len(route.own))
		}
		for _, name := range fields {
			want, ok := route.own[name]
			if !ok {
				want, ok = shared[name]
			}
			if !ok {
				t.Errorf("%s: the client's field %s is in no table: decide whether it is honoured, accepted or refused", route.path, name)
				continue
			}
			body := map[string]json.RawMessage{}
			for k, v := range route.base {
				body[k] = json.RawMessage(v)
			}
			switch name { // what goes with what
			case "stream_options":
				body["stream"] = json.RawMessage("true")
			case "top_logprobs":
				body["logprobs"] = json.RawMessage("true")
			case "max_completion_tokens":
				delete(body, "max_tokens")
			}
			body[name] = json.RawMessage(want.value)
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", route.path, strings.NewReader(string(text))))
			if w.Code != want.status || strings.Contains(w.Body.String(), "not known") {
				t.Errorf("%s: %s: status %d, want %d: %s", route.path, name, w.Code, want.status, w.Body)
			}
			if want.status == 400 && !strings.Contains(w.Body.String(), fmt.Sprintf(`"param":%q`, name)) {
				t.Errorf("%s: %s is not named: %s", route.path, name, w.Body)
			}
			// Null asks for nothing, as the client's explicit null means it.
			body[name] = json.RawMessage("null")
			text, _ = json.Marshal(body)
			w = httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", route.path, strings.NewReader(string(text))))
			if _, needed := route.base[name]; w.Code != 200 && (!needed || name == "max_tokens") {
				t.Errorf("%s: %s null: status %d: %s", route.path, name, w.Code, w.Body)
			}
		}
	}
}

// TestMessages sends every kind of turn that the client can make.
func TestMessages(t *testing.T) {
	_, client := serve(t, paddock.Options{}, paddock.HandlerOptions{})
	user := openai.UserMessage("hi")
	parts := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart("hi"), openai.TextContentPart("there")})
	image := openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:,"})})
	for name, c := range map[string]struct {
		turns []openai.ChatCompletionMessageParamUnion
		param string // refused; "": taken
	}{
		"system":     {[]openai.ChatCompletionMessageParamUnion{openai.SystemMessage("s"), user}, ""},
		"developer":  {[]openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage("d"), user}, ""},
		"assistant":  {[]openai.ChatCompletionMessageParamUnion{user, openai.AssistantMessage("a"), user}, ""},
		"text parts": {[]openai.ChatCompletionMessageParamUnion{parts}, ""},
		"tool":       {[]openai.ChatCompletionMessageParamUnion{user, openai.ToolMessage("result", "id"), user}, ""},
		"image":      {[]openai.ChatCompletionMessageParamUnion{image}, "messages[0].content[0].type"},
	} {
		p := chat("")
		p.Messages, p.MaxTokens = c.turns, openai.Int(1)
		_, err := client.Chat.Completions.New(t.Context(), p)
		if c.param == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.param != "" {
			wantError(t, err, 400, "", c.param, "not served")
		}
	}
}
