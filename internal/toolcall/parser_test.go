package toolcall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
	"pgregory.net/rapid"
)

// answer is what a parser gave, joined.
type answer struct {
	content, reasoning string
	calls              []Call
}

func (a *answer) take(p Piece) {
	a.content += p.Content
	a.reasoning += p.Reasoning
	if p.Call != nil {
		a.calls = append(a.calls, *p.Call)
	}
}

func (a *answer) String() string { return fmt.Sprintf("%q %q %q", a.content, a.reasoning, a.calls) }

// parse pushes the pieces of a text.
func parse(o Options, pieces ...string) *answer {
	a := &answer{}
	p := NewParser(o, a.take)
	for _, s := range pieces {
		p.Push(s)
	}
	p.Flush()
	return a
}

func formatNamed(t testing.TB, name string) *Format {
	for _, f := range formats {
		if f.Name == name {
			return f
		}
	}
	if name != "" {
		t.Fatalf("no format %q", name)
	}
	return nil
}

var testOffer = NewOffer([]byte(`[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object"},"e":{"enum":["a"]}}}}},
	{"type":"function","function":{"name":"g"}}]`))

type sample struct {
	format, text string
	want         answer
}

// samples are answers of each format: whole, with text around, cut and broken ones.
var samples = []sample{
	{"", "<tool_call>{}</tool_call> ", answer{content: "<tool_call>{}</tool_call> "}},
	{"json in tool_call tags", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"</tool_call>\\\"\", \"n\": 48.0}}\n</tool_call>", answer{calls: []Call{{"f", `{"s": "</tool_call>\"", "n": 48.0}`}}}},
	{"json in tool_call tags", "Let me see.\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call> \n", answer{content: "Let me see.", calls: []Call{{"f", "{}"}, {"g", "{}"}}}},
	{"json in tool_call tags", "a <tool_call>{\"name\": 1}</tool_call> b\n", answer{content: "a <tool_call>{\"name\": 1}</tool_call> b\n"}},
	{"json in tool_call tags", "a <tool_call>{\"name\": \"f\", \"arguments\": {\"s", answer{content: "a <tool_call>{\"name\": \"f\", \"arguments\": {\"s"}},
	{"json in tool_call tags", "<tool_call>{\"name\": \"f\", \"arguments\": {}}", answer{calls: []Call{{"f", "{}"}}}},
	{"json in tool_call tags", "<think>\nhm <tool_call>x</tool_call>\n</think>\n\nyes\n", answer{content: "yes\n", reasoning: "hm <tool_call>x</tool_call>"}},
	{"json in tool_call tags", "a <think>b</think> <tool_ca", answer{content: "a <think>b</think> <tool_ca"}},
	{"functions in tool_call tags", "<tool_call>\n<function=f>\n<parameter=s>\n1\n\n2\n</parameter>\n<parameter=n>\n48.0\n</parameter>\n<parameter=o>\n{\"b\": 1, \"a\": 1e-07}\n</parameter>\n</function>\n</tool_call>", answer{calls: []Call{{"f", `{"s": "1\n\n2", "n": 48.0, "o": {"b": 1, "a": 1e-07}}`}}}},
	{"functions in tool_call tags", "x<tool_call>\n<function=g>\n<parameter=u>\n7\n</parameter>\n</function>\n</tool_call>", answer{content: "x", calls: []Call{{"g", `{"u": "7"}`}}}},
	{"functions in tool_call tags", "<tool_call>\n<function=f>\n<parameter=s>\n1</function>\n</tool_call>", answer{content: "<tool_call>\n<function=f>\n<parameter=s>\n1</function>\n</tool_call>"}},
	{"arg_key in tool_call tags", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>é<</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>g</tool_call>", answer{calls: []Call{{"f", `{"s": "é<", "n": 3}`}, {"g", "{}"}}}},
	{"json in tool_calls tags", "<tool_calls>[{\"name\": \"f\", \"arguments\": {}, \"id\": \"x\"}, {\"name\": \"g\", \"arguments\": {\"a\": [1]}}]</tool_calls>", answer{calls: []Call{{"f", "{}"}, {"g", `{"a": [1]}`}}}},
	{"mistral", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"s\": \"[ARGS]\"}}]", answer{calls: []Call{{"f", `{"s": "[ARGS]"}`}}}},
	{"mistral", "ok[TOOL_CALLS]f[ARGS]{\"n\": 1}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{}", answer{content: "ok", calls: []Call{{"f", `{"n": 1}`}, {"g", "{}"}}}},
	{"mistral", "[TOOL_CALLS]f[ARGS]{\"n\": ", answer{content: "[TOOL_CALLS]f[ARGS]{\"n\": "}},
	{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"n\": 1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", answer{calls: []Call{{"f", `{"n": 1}`}, {"g", "{}"}}}},
	{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"s\": \"```json\"}\n```<｜tool▁call▁end｜>", answer{calls: []Call{{"f", `{"s": "` + "```json" + `"}`}}}},
	{"deepseek markup", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" string=\"true\">7</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", answer{calls: []Call{{"f", `{"s": "7", "n": 7}`}}}},
	{"json behind tool_call", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"n\": 1}}]", answer{calls: []Call{{"f", `{"n": 1}`}}}},
	{"internlm", "a<|action_start|><|plugin|>\n{\"name\": \"f\", \"parameters\": {}}<|action_end|>\n", answer{content: "a", calls: []Call{{"f", "{}"}}}},
	{"apertus", "<|tools_prefix|>[{\"f\": {\"n\": 1}}, {\"g\": {}}]<|tools_suffix|>", answer{calls: []Call{{"f", `{"n": 1}`}, {"g", "{}"}}}},
	{"bare json", "{\"name\": \"f\", \"parameters\": {\"s\": \"x\"}}", answer{calls: []Call{{"f", `{"s": "x"}`}}}},
	{"bare json", " \n{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}\n", answer{calls: []Call{{"f", "{}"}, {"g", "{}"}}}},
	{"bare json", "{\"name\": \"Ann\", \"age\": 7}\n", answer{content: "{\"name\": \"Ann\", \"age\": 7}\n"}},
	{"bare json", "functools[{\"name\": \"f\", \"arguments\": {}}]", answer{calls: []Call{{"f", "{}"}}}},
	{"bare json", "<|python_tag|>f.call(x=1)", answer{content: "<|python_tag|>f.call(x=1)"}},
	{"harmony", "<|channel|>analysis<|message|>We think.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"n\": 1}<|call|>", answer{reasoning: "We think.", calls: []Call{{"f", `{"n": 1}`}}}},
	{"harmony", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b c", answer{reasoning: "a", content: "b c"}},
	{"harmony", "<|channel|>commentary<|message|>I will.<|end|><|start|>assistant to=functions.g<|channel|>commentary json<|message|>{}<|call|>", answer{content: "I will.", calls: []Call{{"g", "{}"}}}},
	{"harmony", "<|channel|>commentary to=functions.f<|message|>{\"n\": ", answer{content: "<|channel|>commentary to=functions.f<|message|>{\"n\": "}},
	{"harmony", "plain <|chan", answer{content: "plain <|chan"}},
}

var testThink = Think{"<think>", "</think>"}

func TestSamples(t *testing.T) {
	covered := map[string]bool{}
	for _, s := range samples {
		o := Options{Calls: formatNamed(t, s.format), Offer: testOffer, Think: testThink, Split: true}
		if s.format == "" {
			o = Options{}
		}
		covered[s.format] = covered[s.format] || len(s.want.calls) > 0
		if got := parse(o, s.text); got.String() != s.want.String() {
			t.Errorf("%s: %q:\ngot  %v\nwant %v", s.format, s.text, got, &s.want)
		}
	}
	for _, f := range formats {
		if !covered[f.Name] {
			t.Errorf("no sample of a call in the format %s", f.Name)
		}
	}
}

// TestReasoning has the ways in which reasoning begins and ends.
func TestReasoning(t *testing.T) {
	for _, c := range []struct {
		text          string
		inside, split bool
		want          answer
	}{
		{"hm\n</think>\n\nyes", true, true, answer{reasoning: "hm", content: "yes"}},
		{"hm\n</think>\n\nyes", true, false, answer{content: "hm\n</think>\n\nyes"}},
		{"hm\n</think>\n\nyes", false, true, answer{content: "hm\n</think>\n\nyes"}},
		{" <think>\n\n</think>\n\nyes", false, true, answer{content: "yes"}},
		{" <think>\na  b\n</think> yes <think>no</think> ", false, true, answer{reasoning: "a  b", content: "yes <think>no</think> "}},
		{" <think>\na </think> yes ", false, false, answer{content: " <think>\na </think> yes "}},
		{"<think>a </thin", false, true, answer{reasoning: "a </thin"}},
		{"<thi", false, true, answer{content: "<thi"}},
	} {
		if got := parse(Options{Think: testThink, Inside: c.inside, Split: c.split}, c.text); got.String() != c.want.String() {
			t.Errorf("%q inside %v split %v: got %v, want %v", c.text, c.inside, c.split, got, &c.want)
		}
	}
}

// check holds a text to the promises of Parser, with a cut into pieces.
func check(t interface{ Fatalf(string, ...any) }, o Options, pieces []string) {
	text := strings.Join(pieces, "")
	whole, cut := parse(o, text), parse(o, pieces...)
	if whole.String() != cut.String() {
		t.Fatalf("%q as one: %v\nin pieces %q: %v", text, whole, pieces, cut)
	}
	harmony := o.Calls != nil && o.Calls.channels
	if len(whole.calls) == 0 && !o.Split && !harmony && whole.content != text {
		t.Fatalf("%q without a call became %q", text, whole.content)
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if len(whole.calls) == 0 && !harmony {
		kept := false
		for _, open := range []string{"", o.Think.Open} { // the markers alone may be gone
			for _, closing := range []string{"", o.Think.Close} {
				kept = kept || words(open+whole.reasoning+closing+whole.content) == words(text)
			}
		}
		if !kept {
			t.Fatalf("%q lost text: %v", text, whole)
		}
	}
}

// TestPieces: however a text is cut, the answer is the same, and nothing of it is
// lost. The texts are samples glued, cut short and mixed with markers.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Offer: testOffer, Split: rapid.Bool().Draw(t, "split"), Inside: rapid.Bool().Draw(t, "inside")}
		if rapid.Bool().Draw(t, "think") {
			o.Think = testThink
		}
		if i := rapid.IntRange(-1, len(formats)-1).Draw(t, "format"); i >= 0 {
			o.Calls = formats[i]
		}
		markers := append(o.Markers(), " ", "\n", "a", "\"", "{", "}", "é", "<think>", "</think>")
		var text strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			part := rapid.SampledFrom(markers).Draw(t, "marker")
			if rapid.Bool().Draw(t, "sample") {
				part = rapid.SampledFrom(samples).Draw(t, "text").text
			}
			text.WriteString(part[:len(part)-min(len(part), max(0, rapid.IntRange(-4, 4).Draw(t, "less")))])
		}
		var pieces []string
		for rest := text.String(); rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		check(t, o, pieces)
	})
}

// FuzzParser cuts any text at any places.
func FuzzParser(f *testing.F) {
	for i, s := range samples {
		f.Add(s.text, uint64(i)*0x9e3779b97f4a7c15, uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, cuts uint64, format uint8, split bool) {
		o := Options{Calls: formats[int(format)%len(formats)], Offer: testOffer, Think: testThink, Split: split, Inside: cuts%3 == 0}
		var pieces []string
		from := 0
		for i := range text {
			if i > from && cuts>>(i%64)&1 != 0 {
				pieces, from = append(pieces, text[from:i]), i
			}
		}
		check(t, o, append(pieces, text[from:]))
	})
}

// TestLongCall: a call of a megabyte that comes a few bytes at a time is read in
// time linear in its length.
func TestLongCall(t *testing.T) {
	text := "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"" + strings.Repeat("< ", 1<<19) + "\"}}</tool_call>"
	var pieces []string
	for i := 0; i < len(text); i += 4 {
		pieces = append(pieces, text[i:min(i+4, len(text))])
	}
	if a := parse(Options{Calls: formatNamed(t, "json in tool_call tags")}, pieces...); len(a.calls) != 1 || a.content != "" {
		t.Errorf("%d calls", len(a.calls))
	}
}

// TestManyMarkers: megabytes of markers and of objects in objects take work linear in
// their length as well: a template can write them where formats are tried. A search that
// begins anew at each marker takes minutes for these.
func TestManyMarkers(t *testing.T) {
	const size = 2 << 20
	for _, c := range []struct{ format, before, part string }{
		{"harmony", "", "<|end|>"},
		{"harmony", "", "<|start|><|message|>"},
		{"harmony", "", "<|"},
		{"deepseek", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"},
		{"json in tool_call tags", "<tool_call>" + strings.Repeat(`{"function":`, 9000) + "1", "}"},
		{"mistral", "", "[TOOL_CALLS]f[ARGS]{}"},
	} {
		n := size / len(c.part)
		if c.part == "}" {
			n = 9000
		}
		text := c.before + strings.Repeat(c.part, n)
		t.Logf("%s: %d bytes of %q", c.format, len(text), c.part)
		bounded.Hold(t, bounded.Bytes{Base: 4 << 20, Each: 128}, len(text), func() {
			parse(Options{Calls: formatNamed(t, c.format), Offer: testOffer}, text)
		})
	}
}
