package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/paddock-go/paddock/internal/bounded"
	"github.com/paddock-go/paddock/internal/golden"
)

// fuzzLimits keep one execution short.
var fuzzLimits = Limits{Steps: 200_000, OutputBytes: 1 << 20, ValueBytes: 4 << 20}

// compiling is what Compile takes of a source, decoding what DecodeJSON takes of a
// text.
var (
	compiling = bounded.Bytes{Base: 1 << 20, Each: 1024}
	decoding  = bounded.Bytes{Base: 64 << 10, Each: 64}
)

// rendering is what Render takes, as Limits has it. It does not depend on the sizes of
// the template and of its context but for the variables' slots.
func rendering(l Limits) bounded.Bytes {
	return bounded.Bytes{Base: uint64(64*l.Steps+8*l.ValueBytes) + 8*uint64(l.OutputBytes), Each: 64}
}

func seedTemplates(f *testing.F, add func(src string)) {
	rows, _ := referenceRows(f)
	for i, row := range rows {
		if i%7 == 0 {
			add(row.template)
		}
	}
	for _, h := range hostile {
		if len(h.src) < 500 {
			add(h.src)
		}
	}
}

// FuzzCompile: any source compiles or gives one of two errors.
func FuzzCompile(f *testing.F) {
	seedTemplates(f, func(src string) { f.Add(src) })
	f.Fuzz(func(t *testing.T, src string) {
		var tpl *Template
		var err error
		bounded.Hold(t, compiling, len(src), func() { tpl, err = Compile(src) })
		if err == nil {
			if tpl == nil {
				t.Fatal("no template and no error")
			}
			return
		}
		var syntax *SyntaxError
		var limit *LimitError
		if !errors.As(err, &syntax) && !errors.As(err, &limit) {
			t.Fatalf("untyped error %T: %v", err, err)
		}
		if lines := strings.Count(normNewlines(src), "\n") + 1; syntax != nil && (syntax.Line < 1 || syntax.Line > lines) {
			t.Fatalf("line %d of %d", syntax.Line, lines)
		}
	})
}

// FuzzRender: what compiles renders within its limits or gives one of three
// errors, twice the same.
func FuzzRender(f *testing.F) {
	_, ctx := referenceRows(f)
	seedTemplates(f, func(src string) { f.Add(src) })
	f.Fuzz(func(t *testing.T, src string) {
		tpl, err := Compile(src)
		if err != nil {
			return
		}
		opt := Options{Limits: fuzzLimits, Now: goldenNow}
		var out string
		bounded.Hold(t, rendering(fuzzLimits), len(src), func() { out, err = tpl.Render(ctx, opt) })
		again, err2 := tpl.Render(ctx, opt)
		if out != again || (err == nil) != (err2 == nil) {
			t.Fatalf("two renderings differ: %q %v, %q %v", out, err, again, err2)
		}
		if len(out) > fuzzLimits.OutputBytes {
			t.Fatalf("%d bytes of output", len(out))
		}
		if !utf8.ValidString(out) {
			t.Fatalf("invalid UTF-8: %q", out)
		}
		if err != nil {
			checkRenderError(t, err)
		}
	})
}

func checkRenderError(t *testing.T, err error) {
	t.Helper()
	var raised *RaiseError
	var limit *LimitError
	var failed *RuntimeError
	switch {
	case errors.As(err, &raised), errors.As(err, &limit):
	case errors.As(err, &failed):
		if strings.HasPrefix(failed.Message, "internal fault") {
			t.Fatal(err)
		}
	default:
		t.Fatalf("untyped error %T: %v", err, err)
	}
}

// FuzzRenderInput: a real template over any input at all.
func FuzzRenderInput(f *testing.F) {
	for i, row := range goldenRows(f) {
		if i%9 == 0 {
			in, err := (&run{lim: Limits{}.withDefaults(), steps: 1e6, mem: 1e8}).json(row.input)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, in)
		}
	}
	files, err := filepath.Glob(filepath.Join(golden.Dir(f), "templates", "files", "*.jinja"))
	if err != nil || len(files) == 0 {
		f.Fatal("no templates", err)
	}
	var tpls []*Template
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		tpl, err := Compile(string(src))
		if err != nil {
			f.Fatal(err)
		}
		tpls = append(tpls, tpl)
	}
	f.Fuzz(func(t *testing.T, which int, input string) {
		v, err := DecodeJSON([]byte(input), 0)
		if err != nil {
			return
		}
		ctx, ok := v.(*Map)
		if !ok {
			return
		}
		tpl := tpls[int(uint(which)%uint(len(tpls)))]
		bounded.Hold(t, rendering(fuzzLimits), len(input), func() { _, err = tpl.Render(ctx, Options{Limits: fuzzLimits, Now: goldenNow}) })
		if err != nil {
			checkRenderError(t, err)
		}
	})
}

// json is the tojson filter without arguments.
func (r *run) json(v Value) (string, error) {
	out, err := filters["tojson"].call(r, v, nil, nil)
	s, _ := out.(text)
	return string(s), err
}

// FuzzDecodeJSON: what decodes prints to JSON that decodes to the same.
func FuzzDecodeJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v Value
		var err error
		bounded.Hold(t, decoding, len(s), func() { v, err = DecodeJSON([]byte(s), 0) })
		if err != nil {
			var bad *JSONError
			var limit *LimitError
			if !errors.As(err, &bad) && !errors.As(err, &limit) {
				t.Fatalf("untyped error %T: %v", err, err)
			}
			if bad != nil && (bad.Offset < 0 || bad.Offset > len(s)) {
				t.Fatalf("offset %d of %d", bad.Offset, len(s))
			}
			return
		}
		r := &run{lim: Limits{}.withDefaults(), steps: 1e7, mem: 1e8}
		out, err := r.json(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "Infinity") { // from a number beyond the range; Python prints that too
			return
		}
		w, err := DecodeJSON([]byte(out), 0)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if eq, err := r.equal(v, w); err != nil || !eq {
			t.Fatalf("%q came back as %q", s, out)
		}
	})
}
