package engine

import (
	"math"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/paddock-go/paddock/metrics"
)

// bertFolder is a BERT of one layer as a folder with a tokenizer, of the class, with
// further tensors.
func bertFolder(t *testing.T, class, prefix string, more ...named) fstest.MapFS {
	t.Helper()
	const layer = "encoder.layer.0."
	list := []named{{"embeddings.word_embeddings.weight", []int{30, 32}}, {"embeddings.position_embeddings.weight", []int{64, 32}},
		{"embeddings.token_type_embeddings.weight", []int{2, 32}}, {"embeddings.LayerNorm.weight", []int{32}}, {"embeddings.LayerNorm.bias", []int{32}},
		{layer + "intermediate.dense.weight", []int{64, 32}}, {layer + "intermediate.dense.bias", []int{64}},
		{layer + "output.dense.weight", []int{32, 64}}, {layer + "output.dense.bias", []int{32}},
		{"pooler.dense.weight", []int{32, 32}}, {"pooler.dense.bias", []int{32}}}
	for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"} {
		list = append(list, named{layer + name + ".weight", []int{32, 32}}, named{layer + name + ".bias", []int{32}})
	}
	for _, name := range []string{"attention.output.LayerNorm", "output.LayerNorm"} {
		list = append(list, named{layer + name + ".weight", []int{32}}, named{layer + name + ".bias", []int{32}})
	}
	for i := range list {
		list[i].name = prefix + list[i].name
	}
	tokens, err := os.ReadFile("../internal/vocab/testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"m/model.safetensors": {Data: safetensorsOf(t, append(list, more...))},
		"m/config.json": {Data: []byte(`{"architectures":["` + class + `"],"hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":64,
			"max_position_embeddings":64,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`)},
		"m/tokenizer.json": {Data: tokens},
		"m/modules.json": {Data: []byte(`[{"path":"","type":"sentence_transformers.models.Transformer"},
			{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`)},
		"m/1_Pooling/config.json": {Data: []byte(`{"pooling_mode_mean_tokens":true}`)},
	}
}

// TestEmbeddingFolder: a folder that says how its rows are pooled embeds texts, kept
// and as Q8_0, as it embeds their tokens; a reranker's folder ranks.
func TestEmbeddingFolder(t *testing.T) {
	files := bertFolder(t, "BertModel", "")
	for _, w := range []Weights{WeightsKept, WeightsQ8_0} {
		e, err := OpenFS(files, "m", Options{Threads: 1, Metrics: metrics.Off, Weights: w})
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := e.Tokenize("cafés ##sing Hello", true)
		if err != nil {
			t.Fatal(err)
		}
		if len(tokens) < 5 || tokens[0] != 2 || tokens[len(tokens)-1] != 3 {
			t.Fatalf("tokens %v, want some between 2 and 3", tokens)
		}
		a, err := e.Embed(t.Context(), EmbedRequest{Texts: []string{"cafés ##sing Hello", "hello"}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.Embed(t.Context(), EmbedRequest{Tokens: [][]int32{tokens}})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Vectors[0]) != 32 || !slices.Equal(a.Vectors[0], b.Vectors[0]) || slices.Equal(a.Vectors[0], a.Vectors[1]) {
			t.Errorf("weights %d: %v of a text, %v of its tokens, %v of another", w, a.Vectors[0], b.Vectors[0], a.Vectors[1])
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ranks := bertFolder(t, "BertForSequenceClassification", "bert.", named{"classifier.weight", []int{1, 32}}, named{"classifier.bias", []int{1}})
	delete(ranks, "m/modules.json")
	e, err := OpenFS(ranks, "m", Options{Threads: 1, Metrics: metrics.Off})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Rerank(t.Context(), RerankRequest{Query: "hello", Documents: []string{"cafe", "hello hello", "cafe"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Scores) != 3 || r.Scores[0] != r.Scores[2] || r.Scores[0] == r.Scores[1] || math.IsNaN(float64(r.Scores[0])) {
		t.Errorf("scores %v of cafe, hello, cafe", r.Scores)
	}
}
