package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/model"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/session"
)

// goldenModel is a golden file with the tokens of its longest prompt.
func goldenModel(t *testing.T, name string) (path string, tokens []int32) {
	t.Helper()
	path = filepath.Join(golden.Dir(t), "models", name)
	b, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Prompts []struct{ Tokens []int32 } }
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	for _, p := range g.Prompts {
		if len(p.Tokens) > len(tokens) {
			tokens = p.Tokens
		}
	}
	if len(tokens) < 4 {
		t.Fatalf("%s: %d tokens", name, len(tokens))
	}
	return path + ".gguf", tokens
}

// logits are the bits of all rows of a model at path.
func logits(t *testing.T, path string, tokens []int32) []uint32 {
	t.Helper()
	return run(t, tokens, func(d backend.Device, l session.Limits) (*session.Session, error) {
		return session.Open(path, d, l, nil)
	})
}

var references = map[string][]uint32{} // of golden files, by path

// reference is logits of a golden file, with the tokens that goldenModel gives, computed
// once.
func reference(t *testing.T, path string, tokens []int32) []uint32 {
	t.Helper()
	if references[path] == nil {
		references[path] = logits(t, path, tokens)
	}
	return references[path]
}

// logitsOf are those of an open file.
func logitsOf(t *testing.T, f *gguf.File, tokens []int32) []uint32 {
	t.Helper()
	return run(t, tokens, func(d backend.Device, l session.Limits) (*session.Session, error) {
		return session.OpenFile(f, d, l, nil)
	})
}

func run(t *testing.T, tokens []int32, open func(backend.Device, session.Limits) (*session.Session, error)) []uint32 {
	t.Helper()
	device := cpu.New(cpu.Options{Threads: 1})
	defer device.Close()
	n := len(tokens)
	s, err := open(device, session.Limits{Seqs: 1, Context: n, Rows: n, Logits: n})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	row, err := s.Step(session.Span{Tokens: tokens, All: true})
	if err != nil {
		t.Fatal(err)
	}
	bits := make([]uint32, len(row))
	for i, x := range row {
		bits[i] = math.Float32bits(x)
	}
	if len(bits) != n*s.Vocab() {
		t.Fatalf("%d logits of %d tokens", len(bits), n)
	}
	return bits
}

// sameBits compares logits of a rewritten model.
func sameBits(t *testing.T, what string, got, want []uint32) {
	t.Helper()
	if !slices.Equal(got, want) {
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: logit %d is %v, of the GGUF file %v", what, i, math.Float32frombits(got[i]), math.Float32frombits(want[i]))
			}
		}
	}
}

// kvsOf reads all keys of a file as ggufwrite takes them.
func kvsOf(t *testing.T, f *gguf.File) (kvs []ggufwrite.KV) {
	t.Helper()
	for _, key := range f.Keys() {
		kind, elem, _, _ := f.KindOf(key)
		var v any
		var err error
		switch {
		case kind == gguf.KindString:
			v, err = f.String(key)
		case kind == gguf.KindBool:
			v, err = f.Bool(key)
		case kind == gguf.KindFloat32:
			v, err = f.Float32(key)
		case kind == gguf.KindArray && elem == gguf.KindString:
			v, err = f.Strings(key)
		case kind == gguf.KindArray && elem == gguf.KindFloat32:
			v, err = f.Float32s(key)
		case kind == gguf.KindArray && elem == gguf.KindBool:
			v, err = f.Bools(key)
		case kind == gguf.KindArray:
			v, err = f.Ints(key)
		default:
			v, err = f.Uint32(key)
		}
		if err != nil {
			t.Fatal(err)
		}
		kvs = append(kvs, ggufwrite.KV{Key: key, Value: v})
	}
	return kvs
}

// ggufWith writes the file with every matrix made anew by change and opens it.
func ggufWith(t *testing.T, f *gguf.File, change func(name string, values []float32) (quant.Type, []byte)) *gguf.File {
	t.Helper()
	var list []ggufwrite.Tensor
	for _, x := range f.Tensors {
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		to := ggufwrite.Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims, Data: data}
		if len(x.Dims) > 1 {
			format, _ := quant.Lookup(quant.Type(x.Type))
			values := make([]float32, x.Elems())
			format.Decode(values, data)
			typ, b := change(x.Name, values)
			to.Type, to.Data = uint32(typ), b
		}
		list = append(list, to)
	}
	var b bytes.Buffer
	if err := ggufwrite.Write(&b, kvsOf(t, f), list); err != nil {
		t.Fatal(err)
	}
	g, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func encoded(to quant.Type) func(string, []float32) (quant.Type, []byte) {
	return func(_ string, values []float32) (quant.Type, []byte) {
		format, _ := quant.Lookup(to)
		b := make([]byte, len(values)/format.BlockElems*format.BlockBytes)
		format.Encode(b, values)
		return to, b
	}
}

// writeParts splits the file into n parts, as equal in number of tensors as they
// can be, and returns the path of the first.
func writeParts(t *testing.T, f *gguf.File, n int) string {
	t.Helper()
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("model-%05d-of-%05d.gguf", i+1, n)) }
	for i := range n {
		kvs := []ggufwrite.KV{{Key: "split.no", Value: uint16(i)}, {Key: "split.count", Value: uint16(n)}, {Key: "split.tensors.count", Value: int32(len(f.Tensors))}}
		if i == 0 {
			kvs = append(kvsOf(t, f), kvs...)
		}
		var list []ggufwrite.Tensor
		for _, x := range f.Tensors[i*len(f.Tensors)/n : (i+1)*len(f.Tensors)/n] {
			data, err := f.Data(x)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, ggufwrite.Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims, Data: data})
		}
		var b bytes.Buffer
		if err := ggufwrite.Write(&b, kvs, list); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name(i), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return name(0)
}

// goldenModels are the names of all golden files.
func goldenModels(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden.Dir(t), "models", "*.gguf"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d models: %v", len(paths), err)
	}
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(p), ".gguf"))
	}
	return names
}

// TestThreeParts: each golden file in three parts is the same model to the bit.
func TestThreeParts(t *testing.T) {
	for _, name := range goldenModels(t) {
		t.Run(name, func(t *testing.T) {
			f, path, tokens := openGolden(t, name)
			m, err := model.Lower(f, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			parts := writeParts(t, f, 3)
			if m.Program.Embeds() {
				sameBits(t, "three parts", pooled(t, parts, tokens), pooled(t, path, tokens))
				return
			}
			sameRows(t, name, "in three parts", parts, path, tokens)
		})
	}
}
