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

// TestTraits says what was learnt of the stored templates; those that are not named
// have the usual traits.
func TestTraits(t *testing.T) {
	every := []string{"system", "user", "assistant", "tool"}
	want := map[string]Traits{
		"apriel-1.5-15b-thinker":              {Parts: []string{"user"}},
		"gemma-4-31b-it":                      {Parts: every[1:], Reasoning: "reasoning_content"},
		"glm-4.6":                             {Parts: every[:3], Reasoning: "reasoning_content"},
		"gpt-oss-120b":                        {Reasoning: "thinking"},
		"ministral-3-14b-reasoning-2512":      {Parts: every[:3]},
		"mistral-small-3.2-24b-instruct-2506": {Parts: every[1:3]},
		"qwen3":                               {Reasoning: "reasoning_content"},
		"qwen3.5-4b":                          {Parts: every, Reasoning: "reasoning_content"},
		"step-3.5-flash":                      {Parts: every, Reasoning: "reasoning_content"},
		"vllm-tool-phi4-mini":                 {TextArguments: true},
	}
	found := 0
	for name, source := range goldenTemplates(t) {
		got := Learn(renderer(t, source))
		if !reflect.DeepEqual(want[name], got) {
			t.Errorf("%s: learnt %+v, want %+v", name, got, want[name])
		}
		if _, ok := want[name]; ok {
			found++
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d templates are there", found, len(want))
	}
}

// TestTraitsOfOddTemplates: parts alone, text alone, and templates that fail.
func TestTraitsOfOddTemplates(t *testing.T) {
	for source, want := range map[string]Traits{
		"": {}, "{{ raise_exception('no') }}": {}, "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}": {},
		"{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}":                                                                   {OnlyParts: true, Parts: []string{"system", "user", "assistant", "tool"}},
		"{% for m in messages %}{{ '' + m.content }}{% for c in m.tool_calls or [] %}{{ '=' + c.function.arguments }}{% endfor %}{{ m.reasoning }}{% endfor %}": {TextArguments: true, Reasoning: "reasoning"},
	} {
		if got := Learn(renderer(t, source)); !reflect.DeepEqual(want, got) {
			t.Errorf("%q: learnt %+v, want %+v", source, got, want)
		}
	}
}
