package chat

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
)

func mustCompile(t testing.TB, src string) *Template {
	t.Helper()
	tpl, err := Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// TestLimitsAreExact: a limit that is just enough lets a template through, and
// one less stops it with an error that names it.
func TestLimitsAreExact(t *testing.T) {
	tpl := mustCompile(t, `{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}{% for i in range(10) %}{{ 'abcdefgh' ~ i }}{% endfor %}`)
	for _, c := range []struct {
		what string
		lim  func(n int) Limits
	}{
		{"steps", func(n int) Limits { return Limits{Steps: int64(n)} }},
		{"calls inside calls", func(n int) Limits { return Limits{Depth: n} }},
		{"bytes of output", func(n int) Limits { return Limits{OutputBytes: n} }},
		{"bytes of values", func(n int) Limits { return Limits{ValueBytes: int64(n)} }},
	} {
		least := 1
		for ; least < 10000; least++ {
			if _, err := tpl.Render(NewMap(0), Options{Limits: c.lim(least)}); err == nil {
				break
			}
		}
		if least < 6 || least == 10000 {
			t.Errorf("%s: enough from %d on", c.what, least)
			continue
		}
		_, err := tpl.Render(NewMap(0), Options{Limits: c.lim(least - 1)})
		var limit *LimitError
		if !errors.As(err, &limit) || limit.What != c.what || limit.Limit != int64(least-1) {
			t.Errorf("%s: with one less than %d: %v", c.what, least, err)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	_, err := Compile("a\n{% if x %}\n{{ y ! }}\n{% endif %}")
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 3 {
		t.Errorf("syntax error: %v", err)
	}
	_, err = mustCompile(t, "a\n{% if true %}\n{{ messages[0].role.x }}\n{% endif %}").Render(NewMap(0).Set("messages", List()), Options{})
	var failed *RuntimeError
	if !errors.As(err, &failed) || failed.Line != 3 || failed.Message != "list object has no element 0" {
		t.Errorf("runtime error: %v", err)
	}
	_, err = mustCompile(t, "{{ raise_exception('Only ' ~ 2 ~ ' roles') }}").Render(NewMap(0), Options{})
	var raised *RaiseError
	if !errors.As(err, &raised) || raised.Message != "Only 2 roles" {
		t.Errorf("raised error: %v", err)
	}
}

func TestValues(t *testing.T) {
	n, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	m := NewMap(0)
	for i := range 20 {
		m.Set(fmt.Sprint("k", 19-i), Int(int64(i)))
	}
	m.Set("k5", None)
	ctx := NewMap(0).Set("v", List(None, Bool(true), Int(-3), BigInt(n), BigInt(big.NewInt(7)), Float(48), Float(1e-7), String("it's"), m))
	out, err := mustCompile(t, `{{ v }}|{{ v|tojson }}`).Render(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`[None, True, -3, 123456789012345678901234567890, 7, 48.0, 1e-07, "it's", {'k19': 0, 'k18': 1,`,
		`[null, true, -3, 123456789012345678901234567890, 7, 48.0, 1e-07, "it's", {"k19": 0, "k18": 1,`,
		`'k6': 13, 'k5': None, 'k4': 15`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %q", want, out)
		}
	}
	if v, ok := m.Get("k12"); !ok || v != Int(7) {
		t.Errorf("Get: %v %v", v, ok)
	}
	if _, ok := m.Get("k99"); ok {
		t.Error("Get finds what is not there")
	}
	var keys []string
	for k := range m.All() {
		keys = append(keys, k)
	}
	if len(keys) != 20 || keys[0] != "k19" || keys[19] != "k0" {
		t.Errorf("All: %q", keys)
	}
}

func TestReads(t *testing.T) {
	tpl := mustCompile(t, `{% macro m() %}{% for x in tools %}{% endfor %}{% endmacro %}{% set documents = 1 %}{{ documents }}`)
	if !tpl.Reads("tools") || tpl.Reads("documents") || tpl.Reads("x") || tpl.Reads("messages") {
		t.Errorf("reads %q", tpl.names)
	}
}

// TestConcurrentRender: one template, one input, many goroutines; the race
// detector looks on.
func TestConcurrentRender(t *testing.T) {
	rows, ctx := referenceRows(t)
	var wg sync.WaitGroup
	for _, row := range rows[:400] {
		tpl, err := Compile(row.template)
		if err != nil {
			continue
		}
		want, wantErr := tpl.Render(ctx, Options{Now: goldenNow})
		for range 8 {
			wg.Go(func() {
				got, err := tpl.Render(ctx, Options{Now: goldenNow})
				if got != want || (err == nil) != (wantErr == nil) {
					t.Errorf("%s: %q %v, then %q %v", row.template, want, wantErr, got, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestStrftimeUsesTheGivenClock(t *testing.T) {
	tpl := mustCompile(t, `{{ strftime_now('%d %b %Y %-H:%M') }}`)
	zone := time.FixedZone("x", 2*3600)
	for want, now := range map[string]time.Time{
		"14 Jul 2025 9:05":  goldenNow,
		"01 Jan 0001 0:00":  {},
		"29 Feb 2024 23:59": time.Date(2024, 2, 29, 23, 59, 0, 0, zone),
	} {
		if got, err := tpl.Render(NewMap(0), Options{Now: now}); got != want || err != nil {
			t.Errorf("got %q %v, want %q", got, err, want)
		}
	}
}

// benchContext is a conversation of n messages.
func benchContext(n int) *Map {
	msgs := []Value{NewMap(2).Set("role", String("system")).Set("content", String("You are a helpful assistant."))}
	for i := 1; i < n; i++ {
		role := [2]string{"assistant", "user"}[i%2]
		msgs = append(msgs, NewMap(2).Set("role", String(role)).Set("content", String(strings.Repeat("some words of a message ", 10))))
	}
	return NewMap(5).Set("messages", List(msgs...)).Set("tools", None).Set("documents", None).
		Set("add_generation_prompt", Bool(true)).Set("bos_token", String("<s>")).Set("eos_token", String("</s>"))
}

// TestRenderIsCheap bounds what a usual rendering costs, in steps and in
// allocations, which no other load on the machine can change.
func TestRenderIsCheap(t *testing.T) {
	ctx := benchContext(20)
	for _, name := range []string{"qwen2.5-7b-instruct", "qwen3", "smollm3-3b", "phi-3.5-mini-instruct", "vllm-chatml"} {
		src, ok := goldenSource(t, name)
		if !ok {
			t.Fatalf("%s is not there", name)
		}
		tpl := mustCompile(t, src)
		opt := Options{Limits: Limits{Steps: 5000, ValueBytes: 64 << 10}, Now: goldenNow}
		if _, err := tpl.Render(ctx, opt); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = tpl.Render(ctx, opt) }); n > 1500 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestDefaultLimitsLeaveRoom renders the largest body that the API takes, and
// one of many messages: defaults that stop templates which mean harm must not
// stop a long prompt.
func TestDefaultLimitsLeaveRoom(t *testing.T) {
	const body = 8 << 20
	long := NewMap(2).Set("messages", List(NewMap(2).Set("role", String("user")).Set("content", String(strings.Repeat("wörds of it ", body/13))))).Set("add_generation_prompt", Bool(true)).Set("bos_token", String("<s>")).Set("eos_token", String("</s>"))
	var many []Value
	for i := range 2000 {
		role := [2]string{"user", "assistant"}[i%2]
		many = append(many, NewMap(2).Set("role", String(role)).Set("content", String("some twenty bytes xx")))
	}
	for _, name := range []string{"qwen2.5-7b-instruct", "qwen3", "smollm3-3b", "phi-3.5-mini-instruct", "vllm-chatml", "gpt-oss-120b", "mistral-nemo-instruct-2407", "gemma-4-31b-it"} {
		src, ok := goldenSource(t, name)
		if !ok {
			t.Fatalf("%s is not there", name)
		}
		tpl := mustCompile(t, src)
		for what, ctx := range map[string]*Map{"one long message": long, "many messages": NewMap(3).Set("messages", List(many...)).Set("bos_token", String("<s>")).Set("eos_token", String("</s>"))} {
			if _, err := tpl.Render(ctx, Options{Now: goldenNow}); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func BenchmarkRender(b *testing.B) {
	ctx := benchContext(20)
	for _, name := range []string{"qwen2.5-7b-instruct", "qwen3", "smollm3-3b", "phi-3.5-mini-instruct", "vllm-chatml", "gpt-oss-120b"} {
		src, ok := goldenSource(b, name)
		if !ok {
			b.Fatalf("%s is not there", name)
		}
		tpl := mustCompile(b, src)
		b.Run(name+"/messages=20", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tpl.Render(ctx, Options{Now: goldenNow}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, name := range []string{"qwen3", "gpt-oss-120b"} {
		src, ok := goldenSource(b, name)
		if !ok {
			b.Fatalf("%s is not there", name)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
