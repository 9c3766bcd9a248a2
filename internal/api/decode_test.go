package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/paddock-go/paddock/engine"
)

// decodeChat reads a body by the chat table alone.
func decodeChat(body string) (*params, error) {
	p := &params{topLogprobs: -1}
	return p, decode([]byte(body), chatFields, p)
}

func decodeCompletion(body string) (*params, error) {
	p := &params{topLogprobs: -1}
	return p, decode([]byte(body), completionFields, p)
}

// asRefusal fails the test for an error of any other kind.
func asRefusal(t *testing.T, err error) *refusal {
	t.Helper()
	var f *refusal
	if !errors.As(err, &f) {
		t.Fatalf("%v (%T) is no refusal", err, err)
	}
	if f.reason.Status() != 400 || f.message == "" || !utf8.ValidString(f.message) {
		t.Fatalf("refused with status %d and %q", f.reason.Status(), f.message)
	}
	return f
}

func TestBodiesThatAreNoObject(t *testing.T) {
	deep := func(n int) string { return `{"messages":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for body, want := range map[string]string{
		"":                             "unexpected end",
		"  ":                           "unexpected end",
		"{":                            "unexpected end",
		`{"n":1`:                       "unexpected end",
		`{"n":1}x`:                     "after top-level value at byte 8",
		`{"n":1}{"n":1}`:               "after top-level value",
		`{"n":01}`:                     "at byte 7",
		`{"n":+1}`:                     "at byte 6",
		`{"n":.5}`:                     "at byte 6",
		`{"n":NaN}`:                    "at byte 6",
		`{"n":1,}`:                     "at byte 8",
		`{n:1}`:                        "at byte 2",
		"{\"user\":\"a\nb\"}":          "at byte 11",
		`{"user":"\x"}`:                "at byte 11",
		`{"user":"\u12"}`:              "at byte 14",
		"null":                         "must be a JSON object, is null",
		"[]":                           "must be a JSON object, is an array",
		`"a"`:                          "must be a JSON object, is a string",
		"12":                           "must be a JSON object, is the number 12",
		"false":                        "must be a JSON object, is a boolean",
		"\xef\xbb\xbf{}":               "at byte 1",
		"{\"user\":\"\xff\"}":          "not UTF-8 at byte 9",
		"{\"user\":\"\xed\xa0\x80\"}":  "not UTF-8 at byte 9",
		`{"user":"\ud800"}`:            "half a surrogate pair at byte 9",
		`{"user":"\udc00"}`:            "half a surrogate pair at byte 9",
		`{"user":"a\ud800\ud800"}`:     "half a surrogate pair at byte 10",
		`{"user":"\ud800 \udc00"}`:     "half a surrogate pair at byte 9",
		`{"\udead":1}`:                 "half a surrogate pair at byte 2",
		deep(64):                       "nested deeper than 64",
		deep(1 << 20):                  "nested deeper than 64",
		strings.Repeat(`{"a":`, 1<<20): "nested deeper than 64",
	} {
		_, err := decodeChat(body)
		if err == nil || !strings.Contains(asRefusal(t, err).message, want) {
			t.Errorf("%.40q: %v, want …%s…", body, err, want)
		}
	}
	for _, body := range []string{"{}", " \t\r\n{ }\n", `{"user":"\ud83d\ude00 \\ud800 \u0000"}`, `{"user":null,"seed":null}`} {
		if _, err := decodeChat(body); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestDepthOfABodyIsItsBound: 64 levels pass this check (and meet the next).
func TestDepthOfABodyIsItsBound(t *testing.T) {
	body := `{"messages":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`
	if _, err := decodeChat(body); err == nil || asRefusal(t, err).param != "messages[0]" {
		t.Errorf("64 levels: %v, want a word about messages[0]", err)
	}
	brackets, _ := json.Marshal(strings.Repeat(`[{"`, 1000))
	if _, err := decodeChat(`{"user":` + string(brackets) + `}`); err != nil {
		t.Errorf("brackets in a string are no levels: %v", err)
	}
}

// many repeats an element n times, separated by commas.
func many(n int, element string) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// biases has n entries of a logit bias.
func biases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	return strings.TrimPrefix(b.String(), ",")
}

// TestFieldsRefused has, for each field, values of a wrong type, out of range and
// beyond a cap, and the place that the refusal must name.
func TestFieldsRefused(t *testing.T) {
	huge, digits := `1e400`, strings.Repeat("9", 400)
	type bad struct{ field, value, param string }
	var list []bad
	add := func(param string, field string, values ...string) {
		for _, v := range values {
			list = append(list, bad{field, v, param})
		}
	}
	add("model", "model", "1", "{}", "[]", "true")
	add("stream", "stream", "1", `"true"`, "[]", "{}")
	add("stream_options", "stream_options", "1", "[]", "true", `"x"`)
	add("stream_options.include_usage", "stream_options", `{"include_usage":1}`, `{"include_usage":"yes"}`)
	add("stream_options.usage", "stream_options", `{"usage":true}`)
	add("stream_options.include_usage", "stream_options", `{"include_usage":true,"include_usage":true}`)
	for field, values := range map[string][]string{
		"temperature": {"-0.1", "2.1"}, "top_p": {"-1", "1.01"}, "min_p": {"-1e-9", "2"},
		"presence_penalty": {"-2.1", "3"}, "frequency_penalty": {"-2.1", "3"}, "repetition_penalty": {"0", "-1", "101"},
	} {
		add(field, field, append(values, `"1"`, "true", "[1]", "{}", huge, "-"+huge, digits)...)
	}
	for field, values := range map[string][]string{
		"n": {"0", "-1", "129"}, "max_tokens": {"0", "-1", "2147483648"}, "max_completion_tokens": {"0", "2147483648"},
		"top_k": {"-2", "2147483648"}, "min_tokens": {"-1", "2147483648"}, "top_logprobs": {"-1", "21"},
		"seed": {"9223372036854775808", "-9223372036854775809"},
	} {
		add(field, field, append(values, `"1"`, "true", "[1]", "{}", "1.0", "1.5", "1e2", huge, digits)...)
	}
	for _, field := range []string{"logprobs", "ignore_eos", "parallel_tool_calls", "store"} {
		add(field, field, "1", `"true"`, "[]", "{}")
	}
	for _, field := range []string{"user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort", "cache_salt"} {
		add(field, field, "1", "true", "[]", "{}")
	}
	for _, field := range []string{"metadata", "prediction", "prompt_cache_options", "chat_template_kwargs", "logit_bias"} {
		add(field, field, "1", "true", "[]", `"x"`)
	}
	add("cache_salt", "cache_salt", `"`+strings.Repeat("x", 257)+`"`)
	add("stop", "stop", "1", "{}", "false", "["+many(17, `"x"`)+"]", "["+many(100000, `"x"`)+"]")
	add("stop[1]", "stop", `["a",null]`, `["a",1]`, `["a",["b"]]`)
	add("stop_token_ids", "stop_token_ids", "1", `"1"`, "{}", "["+many(1025, "1")+"]")
	add("stop_token_ids[0]", "stop_token_ids", "[-1]", `["1"]`, "[1.5]", "[null]", "[2147483648]")
	add("logit_bias", "logit_bias", "{"+biases(1025)+"}", "{"+biases(100000)+"}")
	add("logit_bias.5", "logit_bias", `{"5":"1"}`, `{"5":101}`, `{"5":-101}`, `{"5":null}`, `{"5":1e400}`, `{"5":1,"5":1}`)
	add("logit_bias.x", "logit_bias", `{"x":1}`)
	add("logit_bias.05", "logit_bias", `{"05":1}`)
	add("logit_bias.+5", "logit_bias", `{"+5":1}`)
	add("logit_bias.-5", "logit_bias", `{"-5":1}`)
	add("logit_bias.99999999999", "logit_bias", `{"99999999999":1}`)
	add("chat_template_kwargs.messages", "chat_template_kwargs", `{"messages":[]}`)
	add("chat_template_kwargs.tools", "chat_template_kwargs", `{"tools":[]}`)
	for field, values := range map[string][]string{
		"tools": {"{}", "1", "[" + many(maxTools+1, `{"type":"function","function":{"name":"f"}}`) + "]"}, "tool_choice": {`"required"`, `"any"`, "{}", "1", `{"type":"function"}`},
		"documents": {"{}", "1", "[" + many(maxSources+1, "{}") + "]"}, "add_generation_prompt": {"1", `"false"`}, "continue_final_message": {"true", "1"}, "functions": {`[{"name":"f"}]`},
		"function_call": {`{"name":"f"}`}, "response_format": {`{"type":"json_object"}`, `{"type":"json_schema","json_schema":{}}`, `"text"`},
		"modalities": {`["text","audio"]`, `["audio"]`}, "audio": {`{"voice":"x","format":"wav"}`}, "web_search_options": {"{}"},
		"moderation": {"{}"}, "verbosity": {`"low"`, `"high"`},
	} {
		add(field, field, values...)
	}
	add("documents[1]", "documents", `[{},"a"]`)
	add("tools[0]", "tools", "[1]", "[[]]", "[null]")
	add("tools[0].type", "tools", "[{}]", `[{"function":{"name":"f"}}]`, `[{"type":1}]`, `[{"type":"custom"}]`, `[{"type":null,"function":{"name":"f"}}]`)
	add("tools[1].function", "tools", `[{"type":"function","function":{"name":"f"}},{"type":"function"}]`, `[{"type":"function","function":{"name":"f"}},{"type":"function","function":1}]`)
	name := func(v string) string { return `[{"type":"function","function":{"name":` + v + `}}]` }
	add("tools[0].function.name", "tools", `[{"type":"function","function":{}}]`, name("1"), name(`""`), name(`"a b"`), name(`"é"`), name(`"a.b"`), name(`"`+strings.Repeat("f", maxToolName+1)+`"`), name("null"))
	function := func(v string) string { return `[{"type":"function","function":{"name":"f",` + v + `}}]` }
	add("tools[0].function.description", "tools", function(`"description":1`))
	add("tools[0].function.parameters", "tools", function(`"parameters":"{}"`), function(`"parameters":[]`))
	add("tools[0].function.strict", "tools", function(`"strict":true`), function(`"strict":"true"`))
	calls := func(v string) string { return `[{"role":"assistant","content":null,"tool_calls":` + v + `}]` }
	add("messages[0].tool_calls", "messages", calls("1"), calls("{}"), calls("["+many(maxCalls+1, `{"function":{"name":"f"}}`)+"]"))
	add("messages[0].tool_calls[0]", "messages", calls("[1]"), calls("[null]"))
	add("messages[0].tool_calls[0].id", "messages", calls(`[{"id":1,"function":{"name":"f"}}]`))
	add("messages[0].tool_calls[0].type", "messages", calls(`[{"type":"custom","function":{"name":"f"}}]`))
	add("messages[0].tool_calls[0].function", "messages", calls(`[{"id":"1"}]`), calls(`[{"function":"f"}]`))
	add("messages[0].tool_calls[0].function.name", "messages", calls(`[{"function":{"arguments":"{}"}}]`), calls(`[{"function":{"name":1}}]`))
	arguments := func(v string) string { return calls(`[{"function":{"name":"f","arguments":` + v + `}}]`) }
	add("messages[0].tool_calls[0].function.arguments", "messages", arguments("1"), arguments(`"1"`), arguments(`"[]"`), arguments(`"{"`), arguments(`"{} {}"`), arguments(`"{\"a\":01}"`), arguments("[]"), arguments("null"))
	add("messages[0].tool_call_id", "messages", `[{"role":"tool","content":"x","tool_call_id":1}]`)
	add("messages", "messages", "1", `"hi"`, "{}", "["+many(maxMessages+1, `{"role":"a","content":""}`)+"]")
	add("messages[0]", "messages", "[1]", `["hi"]`, "[[]]", "[null]")
	add("messages[0].role", "messages", `[{}]`, `[{"content":"x"}]`, `[{"role":1}]`, `[{"role":""}]`, `[{"role":null,"content":""}]`, `[{"role":"a","role":"b"}]`)
	add("messages[1].content", "messages", `[{"role":"a","content":"x"},{"role":"user"}]`, `[{"role":"a","content":"x"},{"role":"user","content":null}]`,
		`[{"role":"a","content":"x"},{"role":"user","content":1}]`, `[{"role":"a","content":"x"},{"role":"user","content":{}}]`, `[{"role":"a","content":"x"},{"role":"user","content":false}]`)
	add("messages[0].content[1]", "messages", `[{"role":"user","content":[{"type":"text","text":"x"},"y"]}]`)
	add("messages[0].content[0].type", "messages", `[{"role":"user","content":[{"text":"x"}]}]`, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`,
		`[{"role":"user","content":[{"type":"input_audio"}]}]`, `[{"role":"user","content":[{"type":5}]}]`, `[{"role":"user","content":[{"type":"text","type":"text"}]}]`)
	add("messages[0].content[0].text", "messages", `[{"role":"user","content":[{"type":"text"}]}]`, `[{"role":"user","content":[{"type":"text","text":null}]}]`, `[{"role":"user","content":[{"type":"text","refusal":"x"}]}]`)
	add("messages[0].audio", "messages", `[{"role":"user","content":"x","audio":{"id":"x"}}]`)
	add("messages[0].function_call", "messages", `[{"role":"assistant","function_call":{"name":"x"}}]`)
	add("messages[0]", "messages", `[{`+biases(maxMembers+1)+`}]`)
	add("unheard_of", "unheard_of", "1", "null")
	add("", "", "1")
	for _, c := range list {
		_, err := decodeChat(`{` + fmt.Sprintf("%q", c.field) + `:` + c.value + `}`)
		if err == nil {
			t.Errorf("%s: %.60s was accepted", c.field, c.value)
			continue
		}
		if f := asRefusal(t, err); f.param != c.param || !strings.HasPrefix(f.message, f.param) {
			t.Errorf("%s: %.60s: param %q, want %q; %s", c.field, c.value, f.param, c.param, f.message)
		}
	}
	list = nil
	add("prompt", "prompt", "1", "{}", "true", `["a","b"]`, `[[1],[2]]`, `[[1],2]`, `["a",1]`, `[[1],"a"]`)
	add("prompt[0]", "prompt", `[null]`, `[1.5]`, "[-1]", `[{}]`, `[true]`, "[2147483648]")
	add("prompt[2]", "prompt", `[1,2,"a"]`, "[1,2,[3]]", "[1,2,1e3]")
	add("prompt[0][1]", "prompt", `[[1,"a"]]`, `[[1,null]]`, "[[1,[2]]]")
	add("best_of", "best_of", "0", "129", `"1"`)
	add("logprobs", "logprobs", "-1", "21", "true", `"1"`)
	add("echo", "echo", "true", "1")
	add("suffix", "suffix", `"x"`, "1")
	for _, field := range []string{"messages", "tools", "max_completion_tokens", "response_format"} {
		add(field, field, "1") // another route's
	}
	for _, c := range list {
		_, err := decodeCompletion(`{"` + c.field + `":` + c.value + `}`)
		if err == nil {
			t.Errorf("%s: %.60s was accepted", c.field, c.value)
			continue
		}
		if f := asRefusal(t, err); f.param != c.param {
			t.Errorf("%s: %.60s: param %q, want %q; %s", c.field, c.value, f.param, c.param, f.message)
		}
	}
}

func TestFieldsTwice(t *testing.T) {
	for _, f := range chatFields {
		_, err := decodeChat(`{"` + f.name + `":null,"` + f.name + `":null}`)
		if err == nil || asRefusal(t, err).param != f.name {
			t.Errorf("%s twice: %v", f.name, err)
		}
	}
	// An escaped name is the same name.
	if _, err := decodeChat(`{"n":1,"\u006e":2}`); err == nil || asRefusal(t, err).param != "n" {
		t.Errorf("n twice, once escaped: %v", err)
	}
}

func TestFieldsAreInOneTableRowEach(t *testing.T) {
	for _, table := range [][]paramField{chatFields, completionFields} {
		seen := map[string]bool{}
		for _, f := range table {
			if seen[f.name] {
				t.Errorf("%s has two rows", f.name)
			}
			seen[f.name] = true
		}
	}
}

func TestChatFieldsTaken(t *testing.T) {
	p, err := decodeChat(`{"model":"m","messages":[
		{"role":"developer","content":"be\u0020brief","name":"d"},
		{"role":"user","content":[{"type":"text","text":"a<b"},{"text":"é","type":"text"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"b\":48.0,\"a\":1e-07}"}}],"reasoning_content":"hm"},
		{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},
		{"role":"user","content":""}],
		"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":null},
		"temperature":0.5,"top_p":0,"n":3,"stop":["a","b"],"seed":-7,"presence_penalty":-2,"frequency_penalty":2,
		"logit_bias":{"0":-100,"17":1.5},"max_completion_tokens":9,"logprobs":true,"top_logprobs":20,
		"top_k":-1,"min_p":0.1,"repetition_penalty":1.1,"ignore_eos":true,"min_tokens":2,"stop_token_ids":[3,4],"cache_salt":"s",
		"user":"u","metadata":{"a":"b"},"store":true,"service_tier":"auto","safety_identifier":"x","prompt_cache_key":"k","prompt_cache_retention":"24h",
		"prompt_cache_options":{},"prediction":{"type":"content","content":"x"},"parallel_tool_calls":true,"verbosity":"medium",
		"tools":[],"tool_choice":"none","functions":[],"function_call":"auto","response_format":{"type" : "text"},"modalities":["text"],
		"audio":null,"web_search_options":null,"moderation":null}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"role":"system","content":"be\u0020brief","name":"d"}`,
		`{"role":"user","content":"a\u003cb\né"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"b":48.0,"a":1e-07}}}],"reasoning_content":"hm"}`,
		`{"role":"assistant","content":"no"}`,
		`{"role":"user","content":""}`,
	} {
		if got := string(p.req.Messages[i].Raw); got != want {
			t.Errorf("message %d: %s, want %s", i, got, want)
		}
	}
	r := p.req
	r.Messages = nil
	seed := int64(-7)
	want := engine.Request{
		N: 3, Stop: []string{"a", "b"}, IgnoreEOS: true, MinTokens: 2, StopTokens: []int32{3, 4}, CacheScope: "s",
		Sampling: engine.Sampling{
			Temperature: 0.5, TopP: 1e-45, MinP: 0.1, RepetitionPenalty: 1.1, PresencePenalty: -2, FrequencyPenalty: 2, Seed: &seed,
			LogitBias: map[int32]float32{0: -100, 17: 1.5},
		},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	if p.model != "m" || !p.stream || !p.streamOpts || !p.includeUsage || !p.wantLogprobs || p.topLogprobs != 20 || p.maxAnswer != 9 || p.maxTokens != 0 {
		t.Errorf("%+v", p)
	}
}

func TestPromptForms(t *testing.T) {
	for value, want := range map[string]engine.Request{
		`"a"`:                {Prompt: "a"},
		`["a"]`:              {Prompt: "a"},
		`[1, 2 ,3]`:          {Tokens: []int32{1, 2, 3}},
		`[[1,2,3]]`:          {Tokens: []int32{1, 2, 3}},
		`[ [ 2147483647 ] ]`: {Tokens: []int32{2147483647}},
		`[[]]`:               {Tokens: []int32{}},
		`[]`:                 {},
		`""`:                 {},
	} {
		p, err := decodeCompletion(`{"prompt":` + value + `}`)
		if err != nil || !reflect.DeepEqual(p.req, want) {
			t.Errorf("%s: %+v, %v", value, p.req, err)
		}
	}
}

func TestTemplateArgs(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                               "",
		`{"chat_template_kwargs":{"a":1}}`: `{"a":1}`,
		`{"reasoning_effort":"low"}`:       `{"reasoning_effort":"low"}`,
		`{"reasoning_effort":"low","chat_template_kwargs":{ }}`:      `{"reasoning_effort":"low"}`,
		`{"reasoning_effort":"low","chat_template_kwargs":{"a":1}}`:  `{"reasoning_effort":"low","a":1}`,
		`{"chat_template_kwargs":{ "a":1},"reasoning_effort":"low"}`: `{"reasoning_effort":"low","a":1}`,
	} {
		p, err := decodeChat(body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.templateArgs()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want || len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// TestManyTokensCostLittle: the largest body of token ids is read with a few
// allocations for each of them at most, none of them for a name.
func TestManyTokensCostLittle(t *testing.T) {
	const n = 200_000
	body := []byte(`{"prompt":[` + many(n, "1") + `]}`)
	allocs := testing.AllocsPerRun(1, func() {
		p := &params{}
		if err := decode(body, completionFields, p); err != nil || len(p.req.Tokens) != n {
			t.Fatalf("%d tokens, %v", len(p.req.Tokens), err)
		}
	})
	if allocs > n/100 {
		t.Errorf("%v allocations for %d tokens", allocs, n)
	}
}

// checkWalk compares what members and elements see with encoding/json.
func checkWalk(t *testing.T, v value) {
	t.Helper()
	switch {
	case v.object():
		var want map[string]json.RawMessage
		if err := json.Unmarshal(v.raw, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]value{}
		if v.members(func(name string, m value) error {
			got[name] = m
			return nil
		}) != nil {
			return // a member comes twice: which of them counts would be a guess
		}
		if len(got) != len(want) {
			t.Fatalf("%d members of %s", len(got), v.raw)
		}
		for name, m := range got {
			if string(want[name]) != string(m.raw) {
				t.Fatalf("%q: %s, want %s", name, m.raw, want[name])
			}
			checkWalk(t, m)
		}
	case v.array():
		var want []json.RawMessage
		if err := json.Unmarshal(v.raw, &want); err != nil {
			t.Fatal(err)
		}
		n := 0
		_ = v.elements(func(e value) error { // never an error: the callback has none
			if e.at != n || string(e.raw) != string(want[n]) {
				t.Fatalf("element %d: %s at %d, want %s", n, e.raw, e.at, want[n])
			}
			n++
			checkWalk(t, e)
			return nil
		})
		if n != len(want) {
			t.Fatalf("%d elements of %s", n, v.raw)
		}
	}
}

// FuzzDecode: whatever a body holds, reading it never panics, an error is a
// refusal that can be written, and what is taken is within the caps.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"prompt":[[1,2]],"stop":["a"],"logit_bias":{"5":-1e2},"stream_options":{"include_usage":true}}`,
		`{"prompt":"\ud83d\ude00","seed":-9223372036854775808,"temperature":1e-400,"top_p":0.0}`,
		`{"chat_template_kwargs":{"a":[{"b":null}]},"reasoning_effort":"high","response_format":{ "type":"text" }}`,
		`{"n":128,"top_logprobs":20,"logprobs":true,"metadata":{"":[]},"tools":[ ]}`, "[]", `{"a"`, `{"":0,"":0.0}`, `{"user":"\ud800"}`, "\xff", `{"":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if raw, err := document(body); err == nil {
			checkWalk(t, value{at: whole, raw: raw})
		}
		for _, table := range [][]paramField{chatFields, completionFields} {
			p := &params{topLogprobs: -1}
			err := decode(body, table, p)
			if err != nil {
				f := asRefusal(t, err)
				if _, err := json.Marshal(f.body()); err != nil {
					t.Fatal(err)
				}
				continue
			}
			r := &p.req
			if r.N > 128 || len(r.Stop) > 16 || len(r.LogitBias) > 1024 || len(r.StopTokens) > 1024 || p.topLogprobs > 20 || r.Logprobs > 21 || len(r.Messages) > maxMessages {
				t.Fatalf("beyond the caps: %+v", r)
			}
			if args, err := p.templateArgs(); err != nil || args != nil && !json.Valid(args) {
				t.Fatalf("template arguments are no JSON: %s, %v", args, err)
			}
			for _, m := range r.Messages {
				if !json.Valid(m.Raw) {
					t.Fatalf("a message is no JSON: %s", m.Raw)
				}
			}
		}
	})
}
