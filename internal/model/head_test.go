package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
)

// testdata/NAME.head is a model file without its data: what the metadata says, and
// the tensors' shapes. Lowering asks for no more, so that every architecture can be
// tested, and spoilt, without a model at hand.
//
//	u32 llama.block_count 3
//	tensor blk.0.attn_q.weight 64 64

// headOf writes the head of a file down.
func headOf(t testing.TB, f *gguf.File) string {
	t.Helper()
	var b strings.Builder
	line := func(key, kind string, v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %v\n", kind, key, v)
	}
	for _, key := range f.Keys() {
		if strings.HasPrefix(key, "tokenizer.") {
			continue
		}
		switch kind, elem, _, _ := f.KindOf(key); {
		case kind == gguf.KindUint32:
			v, err := f.Uint32(key)
			line(key, "u32", v, err)
		case kind == gguf.KindFloat32:
			v, err := f.Float32(key)
			line(key, "f32", v, err)
		case kind == gguf.KindBool:
			v, err := f.Bool(key)
			line(key, "bool", v, err)
		case kind == gguf.KindString:
			v, err := f.String(key)
			line(key, "text", v, err)
		case kind == gguf.KindArray && elem == gguf.KindBool:
			v, err := f.Bools(key)
			line(key, "bools", strings.Trim(fmt.Sprint(v), "[]"), err)
		case kind == gguf.KindArray:
			v, err := f.Ints(key)
			line(key, "ints", strings.Trim(fmt.Sprint(v), "[]"), err)
		default:
			t.Fatalf("%s is of a kind that a head has no word for: %v", key, kind)
		}
	}
	for _, x := range f.Tensors {
		line(x.Name, "tensor", strings.Trim(fmt.Sprint(x.Dims), "[]"), nil)
	}
	return b.String()
}

// readHead makes a file of a head, with ones for data.
func readHead(t testing.TB, name string) *made {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".head"))
	if err != nil {
		t.Fatal(err)
	}
	m := &made{}
	for line := range strings.Lines(string(text)) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		key, text, _ := strings.Cut(rest, " ")
		var v any
		var err error
		switch kind {
		case "u32":
			v, err = parse(text, func(s string) (uint32, error) { n, err := strconv.ParseUint(s, 10, 32); return uint32(n), err })
		case "f32":
			v, err = parse(text, func(s string) (float32, error) { x, err := strconv.ParseFloat(s, 32); return float32(x), err })
		case "bool":
			v, err = parse(text, strconv.ParseBool)
		case "text":
			v = text
		case "bools":
			v, err = parseAll(text, strconv.ParseBool)
		case "ints":
			v, err = parseAll(text, func(s string) (int32, error) { n, err := strconv.ParseInt(s, 10, 32); return int32(n), err })
		case "tensor":
			var dims []uint64
			if dims, err = parseAll(text, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 32) }); err == nil {
				m.tensor(key, dims...)
			}
		default:
			err = fmt.Errorf("no kind %q", kind)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		if kind != "tensor" {
			m.kvs = append(m.kvs, ggufwrite.KV{Key: key, Value: v})
		}
	}
	return m
}

func parse[T any](s string, one func(string) (T, error)) (any, error) { return one(s) }

func parseAll[T any](text string, one func(string) (T, error)) (list []T, err error) {
	for _, s := range strings.Fields(text) {
		v, err := one(s)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
