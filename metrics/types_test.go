package metrics

import (
	"errors"
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The page's labels are closed by type: text that a request brings can't be handed to the recording API where it would become one.
// The tests of this file hold the two halves of that: what takes text doesn't compile, and nothing else takes any.

const self = "github.com/paddock-go/paddock/metrics"

// checker type-checks programs that import this package. Nothing else is imported: the names of other packages have no meaning
// then, and what they stand for fits everywhere, so programs that use none of them are checked in full.
type checker struct {
	fset *token.FileSet
	self *types.Package
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	if path == self && c.self != nil {
		return c.self, nil
	}
	return nil, errors.New("not imported")
}

// check returns the first error that isn't about an import.
func (c *checker) check(path string, files []*ast.File) (pkg *types.Package, first error) {
	conf := types.Config{Importer: c, IgnoreFuncBodies: path == self, Error: func(err error) {
		if first == nil && !strings.Contains(err.Error(), "could not import") {
			first = err
		}
	}}
	pkg, _ = conf.Check(path, c.fset, files, nil)
	return pkg, first
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	c := &checker{fset: token.NewFileSet()}
	dir, err := gobuild.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range dir.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(".", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := c.check(self, files)
	if err != nil {
		t.Fatal(err)
	}
	c.self = pkg
	return c
}

// compile says what is wrong with statements in a function that has text from a request, and one of each type of this package that
// records something.
func (c *checker) compile(t *testing.T, statements string) error {
	t.Helper()
	f, err := parser.ParseFile(c.fset, "", `package p

import "`+self+`"

func f(text string, r *metrics.Recorder, m *metrics.Model, rec *metrics.Record, step *metrics.StepStats, s *metrics.Snapshot) {
	`+statements+`
}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.check("p", []*ast.File{f})
	return err
}

// TestTextIsNoLabel tries to put text where a label comes from. Each attempt stands beside its like with a value of the enum, so that
// what doesn't compile doesn't for the text alone.
func TestTextIsNoLabel(t *testing.T) {
	c := newChecker(t)
	for _, try := range []struct{ form, enum string }{
		{`rec.Operation = %s`, `metrics.Chat`},
		{`rec.Origin = %s`, `metrics.Batch`},
		{`rec.Finish = %s`, `metrics.Stop`},
		{`rec.Fail = %s`, `metrics.QueueFull`},
		{`rec.Model = %s`, `m`},
		{`rec.Choices[0].Finish = %s`, `metrics.Stop`},
		{`_ = metrics.Record{Operation: %s}`, `metrics.Chat`},
		{`_ = metrics.TokenGap{Operation: %s}`, `metrics.Chat`},
		{`_ = metrics.TokenGap{Origin: %s}`, `metrics.Live`},
		{`step.Gaps[0].Operation = %s`, `metrics.Chat`},
		{`r.OpenModel("a name of the program's", []metrics.Operation{%s}, nil)`, `metrics.Chat`},
		{`s.Prompt[%s][metrics.Live]++`, `metrics.Chat`},
		{`s.Generated[metrics.Chat][%s]++`, `metrics.Live`},
		{`s.Finished[%s]++`, `metrics.EndStop`},
		{`s.Waiting[%s]++`, `metrics.WaitPrefix`},
		{`s.Rejected[%s]++`, `metrics.RejectDraining`},
		{`s.PromptFrom[%s]++`, `metrics.FromTier`},
		{`s.Memory[%s]++`, `metrics.MemoryKV`},
		{`s.Spec.AcceptedAt[%s]++`, `3`},
		{`s.KVType = %s`, `metrics.KVF16`},
		{`r.InFlight(%s)`, `1`},
		{`rec.Token(%s, 1, 1)`, `0`},
		{`m.Step(%s)`, `step`},
		{`m.Finish(%s)`, `rec`},
	} {
		if err := c.compile(t, fmt.Sprintf(try.form, try.enum)); err != nil {
			t.Errorf("with the enum: %v", err)
			continue
		}
		for _, text := range []string{`text`, `"chat"`, `[]byte(text)`} {
			if c.compile(t, fmt.Sprintf(try.form, text)) == nil {
				t.Errorf("compiles: %s", fmt.Sprintf(try.form, text))
			}
		}
	}
	// Nor is there a conversion.
	for _, enum := range []string{"Operation", "Origin", "FinishReason", "FailReason", "EndReason", "WaitReason", "RejectReason", "PromptSource", "MemoryKind", "KVType"} {
		if err := c.compile(t, "_ = metrics."+enum+"(1)"); err != nil {
			t.Errorf("a number as %s: %v", enum, err)
		}
		for _, text := range []string{`text`, `"chat"`} {
			if c.compile(t, "_ = metrics."+enum+"("+text+")") == nil {
				t.Errorf("compiles: %s(%s)", enum, text)
			}
		}
	}
}

// textTaken are all the ways in which text gets into what records, and why each of them isn't a request's label.
var textTaken = map[string]string{
	"Recorder.OpenModel.0": "the name of a loaded model, chosen by whoever loads it",
	"Record.ID":            "events and spans only",
	"Record.Tenant":        "events only",
	"Record.Session":       "events only",
	"Record.User":          "events only",
	"Record.Route":         "events and spans only; a pattern of the program's mux",
}

// TestNothingElseTakesText walks through all that the recording types' methods take, and finds every string in it.
func TestNothingElseTakesText(t *testing.T) {
	found := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		switch of.Kind() {
		case reflect.String:
			found[path] = true
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			walk(path, of.Elem())
		case reflect.Map:
			walk(path, of.Key())
			walk(path, of.Elem())
		case reflect.Struct:
			if seen[of] || of.PkgPath() != self { // other packages' types have their text in them, and aren't read for labels
				return
			}
			seen[of] = true
			for f := range of.Fields() {
				if f.IsExported() {
					walk(of.Name()+"."+f.Name, f.Type)
				}
			}
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[*Recorder](), reflect.TypeFor[*Model](), reflect.TypeFor[*Record]()} {
		for m := range of.Methods() {
			for i := 1; i < m.Type.NumIn(); i++ {
				walk(fmt.Sprintf("%s.%s.%d", of.Elem().Name(), m.Name, i-1), m.Type.In(i))
			}
		}
	}
	walk("Snapshot", reflect.TypeFor[Snapshot]()) // what a Source fills
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if textTaken[path] == "" {
			t.Errorf("%s takes text: say here why it can't become a label", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(textTaken)) {
		if !found[path] {
			t.Errorf("%s is listed and takes no text", path)
		}
	}
}
