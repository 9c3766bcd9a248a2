package toolcall

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/golden"
)

// renderer compiles a template with the special tokens that most vocabularies have.
func renderer(t testing.TB, source string) Render {
	t.Helper()
	tmpl, err := chat.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return func(messages, tools chat.Value, generation bool) (string, error) {
		vars := chat.NewMap(5).Set("messages", messages).Set("tools", tools).Set("add_generation_prompt", chat.Bool(generation)).
			Set("bos_token", chat.String("<s>")).Set("eos_token", chat.String("</s>"))
		return tmpl.Render(vars, chat.Options{Now: time.Date(2025, 7, 14, 9, 5, 7, 0, time.UTC), Limits: chat.Limits{Steps: 300_000}})
	}
}

// goldenTemplates are the stored templates by name.
func goldenTemplates(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(golden.Dir(t), "templates", "files", "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".jinja")] = string(b)
	}
	return out
}

// TestTraits says what was learnt of the stored templates; the format of
// calls is found by reading back what each template writes itself.
func TestTraits(t *testing.T) {
	every, think := []string{"system", "user", "assistant", "tool"}, Think{"<think>", "</think>"}
	type row struct {
		Traits
		calls string
	}
	want := map[string]row{
		"apertus-8b-instruct":                 {Traits{Think: Think{"<|inner_prefix|>", "<|inner_suffix|>"}}, "apertus"},
		"apriel-1.5-15b-thinker":              {Traits{Parts: []string{"user"}}, "json in tool_calls tags"},
		"deepseek-r1-distill-qwen-32b":        {Traits{Think: think}, "deepseek"},
		"deepseek-v3.1":                       {Traits{Think: think}, "deepseek"},
		"deepseek-v3.2":                       {Traits{Think: think}, "deepseek markup"},
		"gemma-4-31b-it":                      {Traits{Parts: every[1:], Reasoning: "reasoning_content"}, ""},
		"gigachat3-10b":                       {Traits{}, ""},
		"glm-4.6":                             {Traits{Parts: every[:3], Reasoning: "reasoning_content", Think: think}, "arg_key in tool_call tags"},
		"gpt-oss-120b":                        {Traits{Reasoning: "thinking"}, "harmony"},
		"llama-cpp-deepseek-r1":               {Traits{Think: think}, "deepseek"},
		"llama-cpp-rwkv-world":                {Traits{Think: think}, ""},
		"ministral-3-14b-reasoning-2512":      {Traits{Parts: every[:3], Think: Think{"[THINK]", "[/THINK]"}}, "mistral"},
		"mistral-nemo-instruct-2407":          {Traits{}, "mistral"},
		"mistral-small-3.2-24b-instruct-2506": {Traits{Parts: every[1:3]}, "mistral"},
		"phi-3.5-mini-instruct":               {Traits{}, ""},
		"qwen2.5-7b-instruct":                 {Traits{}, "json in tool_call tags"},
		"qwen3":                               {Traits{Reasoning: "reasoning_content", Think: think}, "json in tool_call tags"},
		"qwen3-coder":                         {Traits{}, "functions in tool_call tags"},
		"qwen3.5-4b":                          {Traits{Parts: every, Reasoning: "reasoning_content", Think: think}, "functions in tool_call tags"},
		"qwq-32b":                             {Traits{Think: think}, "json in tool_call tags"},
		"smollm3-3b":                          {Traits{Think: think}, ""},
		"step-3.5-flash":                      {Traits{Parts: every, Reasoning: "reasoning_content", Think: think}, "functions in tool_call tags"},
		"vllm-alpaca":                         {Traits{}, ""},
		"vllm-chatml":                         {Traits{}, ""},
		"vllm-falcon":                         {Traits{}, ""},
		"vllm-tool-deepseekv3":                {Traits{}, "deepseek"},
		"vllm-tool-glm4":                      {Traits{}, ""},
		"vllm-tool-granite":                   {Traits{}, "json behind tool_call"},
		"vllm-tool-hermes":                    {Traits{}, "json in tool_call tags"},
		"vllm-tool-internlm2":                 {Traits{}, "internlm"},
		"vllm-tool-mistral":                   {Traits{}, "mistral"},
		"vllm-tool-mistral-parallel":          {Traits{}, "mistral"},
		"vllm-tool-phi4-mini":                 {Traits{TextArguments: true}, "bare json"},
		"vllm-tool-toolace":                   {Traits{}, ""},
	}
	templates := goldenTemplates(t)
	for name, source := range templates {
		w, ok := want[name]
		got := Learn(source, renderer(t, source))
		calls := ""
		if got.Calls != nil {
			calls, got.Calls = got.Calls.Name, nil
		}
		if !ok || !reflect.DeepEqual(w.Traits, got) || calls != w.calls {
			t.Errorf("%s: learnt %+v and %q, want %+v", name, got, calls, w)
		}
	}
	if len(templates) != len(want) {
		t.Errorf("%d templates, %d are known here", len(templates), len(want))
	}
}

// TestTraitsOfOddTemplates: parts alone, text alone, and templates that fail.
func TestTraitsOfOddTemplates(t *testing.T) {
	for source, want := range map[string]Traits{
		"": {}, "{{ raise_exception('no') }}": {}, "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}": {},
		"{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}":                                                                   {OnlyParts: true, Parts: []string{"system", "user", "assistant", "tool"}},
		"{% for m in messages %}{{ '' + m.content }}{% for c in m.tool_calls or [] %}{{ '=' + c.function.arguments }}{% endfor %}{{ m.reasoning }}{% endfor %}": {TextArguments: true, Reasoning: "reasoning"},
	} {
		if got := Learn(source, renderer(t, source)); !reflect.DeepEqual(want, got) {
			t.Errorf("%q: learnt %+v, want %+v", source, got, want)
		}
	}
}
