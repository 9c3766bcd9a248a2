package conformance

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// TestEmbeddings asks for vectors with the official client, in all its forms of
// input and both encodings.
func TestEmbeddings(t *testing.T) {
	eng, err := paddock.Open(filepath.Join(golden.Dir(t), "models", "bert.gguf"), paddock.Options{
		Name: "bert", Metrics: metrics.NewRecorder(metrics.RecorderOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	server := httptest.NewServer(paddock.NewHandler(eng))
	defer server.Close()
	client := openai.NewClient(option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))

	texts := []string{"the cat", "sat on a mat"}
	want, err := eng.Embed(t.Context(), paddock.EmbedRequest{Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	var lists [][]int64
	for _, text := range texts {
		ids, err := eng.Tokenize(text, true)
		if err != nil {
			t.Fatal(err)
		}
		var list []int64
		for _, id := range ids {
			list = append(list, int64(id))
		}
		lists = append(lists, list)
	}
	for name, c := range map[string]struct {
		input openai.EmbeddingNewParamsInputUnion
		n     int
	}{
		"string":       {openai.EmbeddingNewParamsInputUnion{OfString: openai.String(texts[0])}, 1},
		"strings":      {openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}, 2},
		"tokens":       {openai.EmbeddingNewParamsInputUnion{OfArrayOfTokens: lists[0]}, 1},
		"token arrays": {openai.EmbeddingNewParamsInputUnion{OfArrayOfTokenArrays: lists}, 2},
	} {
		for _, format := range []openai.EmbeddingNewParamsEncodingFormat{"", "float", "base64"} {
			got, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "bert", Input: c.input, EncodingFormat: format, User: openai.String("u")})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(got.Data) != c.n || got.Model != "bert" || got.Usage.PromptTokens == 0 || got.Usage.TotalTokens != got.Usage.PromptTokens {
				t.Fatalf("%s, %s: %s", name, format, got.RawJSON())
			}
			for i, d := range got.Data {
				vector := floats(t, d, format == "base64")
				if len(vector) != len(want.Vectors[i]) || int(d.Index) != i {
					t.Fatalf("%s, %s: entry %d of %d values has the index %d", name, format, i, len(vector), d.Index)
				}
				for k := range vector {
					if vector[k] != want.Vectors[i][k] {
						t.Fatalf("%s, %s: value %d of text %d is %v, want %v", name, format, k, i, vector[k], want.Vectors[i][k])
					}
				}
			}
		}
	}
	_, err = client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "bert", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a")}, Dimensions: openai.Int(65)})
	wantError(t, err, 400, "", "dimensions", "64")
}

// floats unpacks a vector, which the client leaves packed where that was asked for.
func floats(t *testing.T, e openai.Embedding, packed bool) (v []float32) {
	t.Helper()
	if !packed {
		for _, x := range e.Embedding {
			v = append(v, float32(x))
		}
		return v
	}
	var raw struct{ Embedding string }
	if err := json.Unmarshal([]byte(e.RawJSON()), &raw); err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(raw.Embedding)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return v
}
