package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/engine"
	jinja "github.com/paddock-go/paddock/internal/chat"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/scripted"
	"pgregory.net/rapid"
)

// rendered is the text that a body's conversation becomes.
func rendered(e *engine.Engine, body []byte) (string, error) {
	p := &params{topLogprobs: -1, traits: e.ChatTraits}
	if err := decode(body, chatFields, p); err != nil {
		return "", err
	}
	if f := p.forTemplate(e); f != nil {
		return "", f
	}
	return e.RenderChat(p.req.Messages, p.req.Tools, p.req.TemplateArgs)
}

// goldenRow is a line of vectors.jsonl.
type goldenRow struct {
	Template, Case, Expected string
	Input                    map[string]json.RawMessage
	raw                      []byte
}

func goldenRows(t *testing.T) map[string][]goldenRow {
	t.Helper()
	f, err := os.Open(filepath.Join(golden.Dir(t), "templates", "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]goldenRow{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var r goldenRow
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		r.raw = bytes.Clone(s.Bytes())
		out[r.Template] = append(out[r.Template], r)
	}
	return out
}

// body says a row's input as a client would.
func (r *goldenRow) body(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString(`{"model":"demo"`)
	var args []string
	for name, v := range r.Input {
		switch {
		case strings.HasSuffix(name, "_token"):
		case name == "messages" || name == "tools" || name == "documents" || name == "add_generation_prompt":
			fmt.Fprintf(&out, ",%q:%s", name, v)
		default:
			args = append(args, fmt.Sprintf("%q:%s", name, v))
		}
	}
	if args != nil {
		fmt.Fprintf(&out, `,"chat_template_kwargs":{%s}`, strings.Join(args, ","))
	}
	out.WriteByte('}')
	return out.Bytes()
}

// inForm is the row's input in the form that the template wants, which is what the
// API is to make of it: arguments that are text become objects, parts become text.
func (r *goldenRow) inForm(t *testing.T, e *engine.Engine) (input *jinja.Map, changed bool) {
	t.Helper()
	v, err := jinja.DecodeJSON(r.raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := v.(*jinja.Map).Get("input")
	input = in.(*jinja.Map)
	messages, _ := input.Get("messages")
	list, _ := jinja.Items(messages)
	traits := e.ChatTraits()
	get := func(v jinja.Value, name string) jinja.Value {
		x, _ := v.(*jinja.Map).Get(name)
		return x
	}
	for _, m := range list {
		role, _ := jinja.Text(get(m, "role"))
		if parts, ok := jinja.Items(get(m, "content")); ok && !traits.WalksParts(role) {
			var texts []string
			for _, p := range parts {
				text, _ := jinja.Text(get(p, "text"))
				texts = append(texts, text)
			}
			m.(*jinja.Map).Set("content", jinja.String(strings.Join(texts, "\n")))
			changed = true
		}
		calls, _ := jinja.Items(get(m, "tool_calls"))
		for _, c := range calls {
			f := get(c, "function").(*jinja.Map)
			if text, ok := jinja.Text(get(f, "arguments")); ok && !traits.TextArguments {
				object, err := jinja.DecodeJSON([]byte(text), 0)
				if err != nil {
					t.Fatal(err)
				}
				f.Set("arguments", object)
				changed = true
			} else if !ok && traits.TextArguments {
				return input, true // the text that the row has it as is not known here
			}
		}
	}
	return input, changed
}

// TestGoldenTemplatesOverHTTP sends the input of each golden rendering as a request
// and compares the text that the template makes of it.
func TestGoldenTemplatesOverHTTP(t *testing.T) {
	exact, formed, refused, present := 0, 0, map[string]int{}, 0
	for name, rows := range goldenRows(t) {
		source, err := os.ReadFile(filepath.Join(golden.Dir(t), "templates", "files", name+".jinja"))
		if err != nil {
			continue // not stored
		}
		token := func(kind string) (s string) {
			_ = json.Unmarshal(rows[0].Input[kind+"_token"], &s) // absent: none
			return s
		}
		m := scripted.Model{Template: string(source), BOS: token("bos"), EOS: token("eos"), UNK: token("unk"), PAD: token("pad")}
		if m.PAD == m.EOS {
			m.PAD = ""
		}
		e := openScripted(t, m)
		tmpl, err := jinja.Compile(string(source))
		if err != nil {
			t.Fatal(err)
		}
		timeless := !strings.Contains(string(source), "strftime_now")
		for i := range rows {
			r := &rows[i]
			present++
			got, err := rendered(e, r.body(t))
			var f *refusal
			if errors.As(err, &f) {
				if f.param == "" || f.reason.Status() != 400 {
					t.Errorf("%s/%s: %v", name, r.Case, f)
				}
				where, _, _ := strings.Cut(f.param, "[")
				refused[where]++
				continue
			}
			input, changed := r.inForm(t, e)
			for kind, id := range map[string]string{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"} { // the vocabulary has them always
				if _, ok := input.Get(kind); !ok {
					input.Set(kind, jinja.String(id))
				}
			}
			want, wantErr := tmpl.Render(input, jinja.Options{Now: time.Now()})
			if _, ok := r.Input["tools"]; ok && changed && e.ChatTraits().TextArguments {
				continue
			}
			switch {
			case (err == nil) != (wantErr == nil):
				t.Errorf("%s/%s: %v, want %v", name, r.Case, err, wantErr)
			case got != want:
				t.Errorf("%s/%s: got %q\nwant %q", name, r.Case, got, want)
			case changed:
				formed++
			case timeless && r.Expected != "" && got != r.Expected && r.Input["bos_token"] != nil:
				t.Errorf("%s/%s: got %q, want the golden %q", name, r.Case, got, r.Expected)
			default:
				exact++
			}
		}
		e.Close()
	}
	t.Logf("golden templates over HTTP: of %d rows present %d as they stand, %d in the form that the template wants, refused by name %v", present, exact, formed, refused)
	if exact < 540 || exact+formed < 580 {
		t.Errorf("%d and %d rows of %d", exact, formed, present)
	}
}

// drawJSON makes a JSON text with white space, escapes, keys that come twice and
// numbers written in every way.
func drawJSON(t *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return space + rapid.SampledFrom([]string{"0", "-0", "-0.0", "48.0", "1e-07", "1E5", "1e400", "9007199254740993", "123456789012345678901234567890", "0.1", "-1.50e+3", "5e-324"}).Draw(t, "number")
	case 1:
		return space + rapid.SampledFrom([]string{`""`, `"a<b>&'"`, `"\u00e9\ud83d\ude00\/"`, `"é😀 "`, `"\\\"\n\u0000"`}).Draw(t, "string")
	case 2:
		return space + strconv.Quote(rapid.StringMatching("[a-zA-Z0-9 ]{0,8}").Draw(t, "word"))
	case 3:
		return space + rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 4:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, drawJSON(t, depth-1))
		}
		return space + "[" + strings.Join(items, ","+space) + "]"
	}
	return space + drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) string {
	var list []string
	for range rapid.IntRange(0, 5).Draw(t, "members") {
		key := rapid.SampledFrom([]string{`"z"`, `"a"`, `"\u0061"`, `"é"`, `""`, `"type"`, `"10"`, `"9"`}).Draw(t, "key")
		list = append(list, key+" :"+drawJSON(t, depth-1))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// TestJSONReachesTheTemplate: keys in their order, kinds of number, text and the last
// of two members with one name, as Python's reader has them, for tools, arguments of
// calls as object and as text, further members of messages, and variables.
func TestJSONReachesTheTemplate(t *testing.T) {
	const source = "{{ tools | tojson }}{{ messages | tojson }}{{ extra | tojson }}{{ documents | tojson }}"
	e := openScripted(t, scripted.Model{Template: source})
	tmpl, err := jinja.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		parameters, arguments, other, extra, document := drawObject(t, 3), drawObject(t, 3), drawJSON(t, 3), drawJSON(t, 3), drawObject(t, 2)
		tools := `[{"function":{"parameters":` + parameters + `,"name":"f","x":` + other + `},"type":"function"}]`
		messages := func(arguments string) string {
			return `[{"x":` + other + `,"role":"assistant","content":"é<","tool_calls":[{"type":"function","function":{"arguments":` + arguments + `,"name":"f"},"id":"1"}]},{"role":"tool","content":"","y":` + extra + `}]`
		}
		said := arguments
		if rapid.Bool().Draw(t, "as text") {
			b, err := json.Marshal(arguments)
			if err != nil {
				t.Fatal(err)
			}
			said = string(b)
		}
		fields := []string{`"tools":` + tools, `"messages":` + messages(said), `"chat_template_kwargs":{"extra":` + extra + `}`, `"documents":[` + document + `]`}
		fields = rapid.Permutation(fields).Draw(t, "order")
		got, err := rendered(e, []byte("{"+strings.Join(fields, ",")+"}"))
		if err != nil {
			t.Fatal(err)
		}
		vars, err := jinja.DecodeJSON([]byte(`{"tools":`+tools+`,"messages":`+messages(arguments)+`,"extra":`+extra+`,"documents":[`+document+`]}`), 0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tmpl.Render(vars.(*jinja.Map), jinja.Options{})
		if err != nil || got != want {
			t.Fatalf("got %s\nwant %s, %v", got, want, err)
		}
	})
}

// TestTurnsInTheTemplatesForm: parts, reasoning and arguments as three templates want
// them.
func TestTurnsInTheTemplatesForm(t *testing.T) {
	const turns = `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]},{"content":"c","role":"assistant","reasoning_content":"d","tool_calls":[{"function":{"name":"f","arguments":"{\"n\":1.0}"}}]}]}`
	for _, c := range []struct{ source, want string }{
		{"{% for m in messages %}{{ m.role + m.content + (m.thinking or '') }}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}", "usera\nbassistantcd{\"n\": 1.0}"},
		{"{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% for c in m.tool_calls or [] %}{{ '' + c.function.arguments }}{% endfor %}{% endfor %}", "[a][b][c]{\"n\":1.0}"},
		{"{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endif %}{{ m.reasoning_content }}{% endfor %}", "[a][b]cd"},
	} {
		e := openScripted(t, scripted.Model{Template: c.source})
		if got, err := rendered(e, []byte(turns)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.source, got, err, c.want)
		}
		e.Close()
	}
}

// TestReasoningNames: whatever a client calls the reasoning of a past turn, the
// template sees it, and sees none where two members differ.
func TestReasoningNames(t *testing.T) {
	for _, known := range []string{"thinking", "reasoning_content"} {
		e := openScripted(t, scripted.Model{Template: "{% for m in messages %}<{{ m." + known + " or '' }}>{% endfor %}"})
		for _, c := range []struct{ members, want string }{
			{`"reasoning_content":"a"`, "<a>"},
			{`"reasoning":"a"`, "<a>"},
			{`"reasoning_content":null,"reasoning":"a"`, "<a>"},
			{`"reasoning":"a","reasoning_content":""`, "<a>"},
			{`"reasoning":"a","reasoning_content":null,"thinking":null`, "<a>"},
			{`"reasoning":"a","reasoning_content":"a"`, "<a>"},
			{`"reasoning_content":"","reasoning":null`, "<>"},
			{`"reasoning":"a","reasoning_content":"b"`, ""},
			{`"` + known + `":"a","reasoning":"b"`, ""},
		} {
			got, err := rendered(e, []byte(`{"messages":[{"role":"assistant","content":"c",`+c.members+`}]}`))
			if c.want == "" && err != nil && strings.Contains(err.Error(), "otherwise") {
				continue
			}
			if err != nil || got != c.want {
				t.Errorf("%s of %s: %q, %v, want %q", known, c.members, got, err, c.want)
			}
		}
		e.Close()
	}
}
