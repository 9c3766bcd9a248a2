package chat

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Template is a compiled chat template. It is immutable: any number of
// goroutines may call Render at the same time.
type Template struct {
	body    block
	init    frameInit
	slots   int
	names   []string // what it reads from the context
	globals []Value  // what a name is when the context lacks it, nil: undefined
	lib     *library
}

// Options are what a rendering depends on besides its context.
type Options struct {
	Limits Limits
	// Now is what strftime_now formats, in its own location. The package reads
	// no clock: a zero Now is the year 1.
	Now time.Time
}

// Compile parses the source of a chat template. Errors are *SyntaxError, and
// *LimitError for a source that is too long or too deeply nested. Safe for
// concurrent use.
func Compile(src string) (*Template, error) {
	if len(src) > MaxSourceBytes {
		return nil, &LimitError{"bytes of template source", MaxSourceBytes}
	}
	if !utf8.ValidString(src) {
		return nil, &SyntaxError{1, "the source is not valid UTF-8"}
	}
	body, err := parse(src)
	if err != nil {
		return nil, err
	}
	lib := newLibrary()
	b := &binder{names: map[string]int{}, lib: lib}
	root := &scope{fn: &funcInfo{}, vars: map[string]*variable{}, since: map[string]int{}, seen: map[string]*variable{}, b: b}
	body.symbols(root)
	if err := body.bind(b, root, false); err != nil {
		return nil, err
	}
	t := &Template{body: body, init: root.init(), lib: lib}
	t.slots = root.fn.slots
	t.names = b.order
	t.globals = make([]Value, len(t.names))
	for i, n := range t.names {
		if g := lib.globals[n]; g != nil {
			t.globals[i] = &function{def: g}
		}
	}
	return t, nil
}

// Reads says whether the template reads name from its context: so a caller can
// tell whether, say, tools would go unseen. Safe for concurrent use.
func (t *Template) Reads(name string) bool {
	for _, n := range t.names {
		if n == name {
			return true
		}
	}
	return false
}

// Render runs the template over ctx, whose keys are the names it can read:
// messages, tools, add_generation_prompt, bos_token and so on. An absent key is
// undefined, which is not the same as None. A nil ctx is an empty one.
//
// Errors are *RaiseError where the template refused its input, *LimitError
// where it went beyond opt.Limits, and *RuntimeError for anything else it could
// not do. Safe for concurrent use; ctx must not change meanwhile.
func (t *Template) Render(ctx *Map, opt Options) (out string, err error) {
	r := t.newRun(ctx, opt)
	// A template comes with a file and the input with a request: whatever they
	// do, it must end this rendering alone.
	defer func() {
		if p := recover(); p != nil {
			out, err = "", &RuntimeError{Message: fmt.Sprintf("internal fault: %v", p)}
		}
	}()
	t.init.enter(r)
	if _, err := t.body.exec(r); err != nil {
		return "", err
	}
	if err := r.joined(0); err != nil {
		return "", err
	}
	return string(r.out), nil
}

// newRun is the state of a Render before its first statement.
func (t *Template) newRun(ctx *Map, opt Options) *run {
	lim := opt.Limits.withDefaults()
	if ctx == nil {
		ctx = NewMap(0)
	}
	r := &run{
		lim: lim, steps: lim.Steps, mem: lim.ValueBytes, now: opt.Now, lib: t.lib,
		names: make([]Value, len(t.names)),
		frame: &frame{slots: make([]Value, t.slots)},
	}
	for i, n := range t.names {
		if v, ok := ctx.Get(n); ok {
			r.names[i] = v
		} else {
			r.names[i] = t.globals[i]
		}
	}
	return r
}
