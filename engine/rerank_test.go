package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// copyOf reads a file into what ggufwrite takes.
func copyOf(t *testing.T, path string) (kvs []ggufwrite.KV, tensors []ggufwrite.Tensor) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, key := range f.Keys() {
		var v any
		var err error
		switch kind, elem, _, _ := f.KindOf(key); {
		case kind == gguf.KindArray && elem == gguf.KindString:
			v, err = f.Strings(key)
		case kind == gguf.KindArray && elem == gguf.KindFloat32:
			v, err = f.Float32s(key)
		case kind == gguf.KindArray:
			v, err = f.Ints(key)
		case kind == gguf.KindString:
			v, err = f.String(key)
		case kind == gguf.KindBool:
			v, err = f.Bool(key)
		case kind == gguf.KindFloat32:
			v, err = f.Float32(key)
		default:
			v, err = f.Uint32(key)
		}
		if err != nil {
			t.Fatal(err)
		}
		kvs = append(kvs, ggufwrite.KV{Key: key, Value: v})
	}
	for _, x := range f.Tensors {
		data, err := f.Data(x)
		if err != nil {
			t.Fatal(err)
		}
		tensors = append(tensors, ggufwrite.Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims, Data: bytes.Clone(data)})
	}
	return kvs, tensors
}

// TestReranker makes a reranker of the golden BERT: its score is what the added
// classifier makes of the first row of query and document, read as one text.
func TestReranker(t *testing.T) {
	kvs, tensors := copyOf(t, filepath.Join(golden.Dir(t), "models", "bert.gguf"))
	for i := range kvs {
		if kvs[i].Key == "bert.pooling_type" {
			kvs[i].Value = uint32(4)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	weight := func(name string, dims ...uint64) []float64 {
		n := 1
		for _, d := range dims {
			n *= int(d)
		}
		list, data := make([]float64, n), []byte{}
		for i := range list {
			x := float32(rng.NormFloat64() / 8)
			list[i] = float64(x)
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		tensors = append(tensors, ggufwrite.Tensor{Name: name, Dims: dims, Data: data})
		return list
	}
	w1, b1 := weight("cls.weight", 64, 64), weight("cls.bias", 64)
	w2, b2 := weight("cls.output.weight", 64, 1), weight("cls.output.bias", 1)
	var file bytes.Buffer
	if err := ggufwrite.Write(&file, kvs, tensors); err != nil {
		t.Fatal(err)
	}
	e, err := OpenFS(fstest.MapFS{"rank.gguf": {Data: file.Bytes()}}, "rank.gguf", Options{Threads: 1, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	plain := openGolden(t, "bert", Options{Threads: 1})

	query, documents := "the cat", []string{"sat on a mat", "", "the cat"}
	got, err := e.Rerank(context.Background(), RerankRequest{Query: query, Documents: documents})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for i, d := range documents {
		tokens := []int32{2}
		for _, text := range []string{query, d} {
			ids := e.tok.Encode(text, false, false)
			tokens = append(append(tokens, ids...), 3)
		}
		used += len(tokens)
		r, err := plain.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{tokens}, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		want := b2[0]
		for o := range 64 {
			sum := b1[o]
			for k, x := range r.Vectors[0] {
				sum += w1[o*64+k] * float64(x)
			}
			want += w2[o] * math.Tanh(sum)
		}
		if math.Abs(want-float64(got.Scores[i])) > 1e-4 {
			t.Errorf("document %d: score %v, want %v", i, got.Scores[i], want)
		}
	}
	if got.Usage.PromptTokens != used {
		t.Errorf("%d tokens are counted, want %d", got.Usage.PromptTokens, used)
	}
	if _, err := e.Embed(context.Background(), EmbedRequest{Texts: []string{"a"}}); !errors.Is(err, ErrNoEmbeddings) {
		t.Errorf("embedding with a reranker: %v", err)
	}
	if e.EmbeddingSize() != 0 || !e.Ranks() || plain.EmbeddingSize() != 64 {
		t.Errorf("the reranker says it embeds %d values and ranks: %v", e.EmbeddingSize(), e.Ranks())
	}
}

// TestRerankByCosine: a text is nearest to itself, and long texts are refused by
// name.
func TestRerankByCosine(t *testing.T) {
	e := openGolden(t, "nomic_bert", Options{Threads: 1, MaxContext: 64})
	r, err := e.Rerank(context.Background(), RerankRequest{Query: "a cat sat", Documents: []string{"the mat", "a cat sat", "on"}})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(r.Scores, slices.Max(r.Scores)); i != 1 || math.Abs(float64(r.Scores[1])-1) > 1e-6 {
		t.Errorf("scores %v", r.Scores)
	}
	for _, q := range []RerankRequest{
		{}, {Query: "a"}, {Documents: []string{"a"}}, {Query: "a", Documents: make([]string, MaxTexts+1)},
	} {
		if _, err := e.Rerank(context.Background(), q); !errors.As(err, new(*RequestError)) {
			t.Errorf("%d documents for %q: %v", len(q.Documents), q.Query, err)
		}
	}
	g := openGolden(t, "llama", Options{Threads: 1})
	if _, err := g.Rerank(context.Background(), RerankRequest{Query: "a", Documents: []string{"b"}}); !errors.Is(err, ErrNoRanking) {
		t.Errorf("ranking with a model that generates: %v", err)
	}
}
