package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
)

// openEmbedder serves a golden model that embeds as "emb".
func openEmbedder(t testing.TB, file string, o engine.Options) *engine.Engine {
	t.Helper()
	o.Name, o.Metrics = "emb", metrics.NewRecorder(metrics.RecorderOptions{})
	e, err := engine.Open(filepath.Join(golden.Dir(t), "models", file), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

type vectors struct {
	Object string
	Data   []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Model string
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
}

// embedded asks for embeddings and unpacks them.
func embedded(t testing.TB, h http.Handler, body string) (vectors, [][]float32) {
	t.Helper()
	w := do(h, "POST", "/v1/embeddings", body)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
	var v vectors
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	var list [][]float32
	for i, d := range v.Data {
		if d.Index != i || d.Object != "embedding" {
			t.Errorf("entry %d: %+v", i, d)
		}
		var row []float32
		var packed string
		if json.Unmarshal(d.Embedding, &packed) == nil {
			b, err := base64.StdEncoding.DecodeString(packed)
			if err != nil || len(b)%4 != 0 {
				t.Fatalf("%d bytes of base64: %v", len(b), err)
			}
			for ; len(b) > 0; b = b[4:] {
				row = append(row, math.Float32frombits(binary.LittleEndian.Uint32(b)))
			}
		} else if err := json.Unmarshal(d.Embedding, &row); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return v, list
}

func TestEmbeddings(t *testing.T) {
	e := openEmbedder(t, "bert.gguf", engine.Options{Threads: 1})
	h := New(e, Options{})
	all, want := embedded(t, h, `{"model":"emb","input":["the cat sat","on a mat","",  "the cat sat"]}`)
	if all.Object != "list" || all.Model != "emb" || len(want) != 4 || len(want[0]) != 64 {
		t.Fatalf("%+v with %d vectors", all, len(want))
	}
	if !slices.Equal(want[0], want[3]) || slices.Equal(want[0], want[1]) {
		t.Error("equal texts must have equal vectors, and others not")
	}
	ids, err := e.Tokenize("the cat sat", true)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := json.Marshal(ids)
	for _, body := range []string{
		`{"model":"emb","input":"the cat sat"}`,
		`{"model":"emb","input":["the cat sat"],"encoding_format":"float","user":"u"}`,
		`{"model":"emb","input":"the cat sat","encoding_format":"base64"}`,
		fmt.Sprintf(`{"model":"emb","input":%s,"encoding_format":null}`, list),
		fmt.Sprintf(`{"model":"emb","input":[%s],"cache_salt":"s"}`, list),
	} {
		v, got := embedded(t, h, body)
		if len(got) != 1 || !slices.Equal(got[0], want[0]) {
			t.Errorf("%s gives other bits", body)
		}
		if v.Usage.PromptTokens != len(ids) || v.Usage.TotalTokens != len(ids) {
			t.Errorf("%s: usage %+v, want %d", body, v.Usage, len(ids))
		}
	}
	if _, short := embedded(t, h, `{"model":"emb","input":"the cat sat","dimensions":8}`); len(short[0]) != 8 {
		t.Errorf("%d values, want 8", len(short[0]))
	}
	st := e.Stats()
	if err := metrics.CheckBooks(&st); err != nil {
		t.Error(err)
	}
	if got, want := total(st.Prompt[metrics.Embeddings]), uint64(all.Usage.PromptTokens+6*len(ids)); got != want {
		t.Errorf("the counter says %d prompt tokens, the replies %d", got, want)
	}
}

func TestEmbeddingsRefused(t *testing.T) {
	h := New(openEmbedder(t, "bert.gguf", engine.Options{Threads: 1}), Options{})
	for _, c := range []struct {
		path, body string
		status     int
		param      string
	}{
		{"/v1/embeddings", `{"model":"emb"}`, 400, "input"},
		{"/v1/embeddings", `{"input":"a"}`, 400, "model"},
		{"/v1/embeddings", `{"model":"other","input":"a"}`, 404, "model"},
		{"/v1/embeddings", `{"model":"emb","input":[]}`, 400, "input"},
		{"/v1/embeddings", `{"model":"emb","input":[[]]}`, 400, "input[0]"},
		{"/v1/embeddings", `{"model":"emb","input":7}`, 400, "input"},
		{"/v1/embeddings", `{"model":"emb","input":[true]}`, 400, "input[0]"},
		{"/v1/embeddings", `{"model":"emb","input":["a",[1]]}`, 400, "input[1]"},
		{"/v1/embeddings", `{"model":"emb","input":[1,"a"]}`, 400, "input[1]"},
		{"/v1/embeddings", `{"model":"emb","input":[[1,2,3],2]}`, 400, "input[1]"},
		{"/v1/embeddings", `{"model":"emb","input":[[1],[2,512]]}`, 400, "input[1][1]"},
		{"/v1/embeddings", `{"model":"emb","input":["a"` + strings.Repeat(`,"a"`, engine.MaxTexts) + `]}`, 400, "input"},
		{"/v1/embeddings", `{"model":"emb","input":"` + strings.Repeat("a ", 600) + `"}`, 400, "input"},
		{"/v1/embeddings", `{"model":"emb","input":"a","dimensions":65}`, 400, "dimensions"},
		{"/v1/embeddings", `{"model":"emb","input":"a","dimensions":0}`, 400, "dimensions"},
		{"/v1/embeddings", `{"model":"emb","input":"a","encoding_format":"int8"}`, 400, "encoding_format"},
		{"/v1/embeddings", `{"model":"emb","input":"a","temperature":1}`, 400, "temperature"},
		{"/v1/embeddings", `{"model":"emb","input":"a","input":"b"}`, 400, "input"},
		{"/v1/completions", `{"model":"emb","prompt":"a"}`, 400, "model"},
		{"/v1/rerank", `{"model":"emb","query":"a"}`, 400, "documents"},
		{"/v1/rerank", `{"model":"emb","documents":["a"]}`, 400, "query"},
		{"/v1/rerank", `{"model":"emb","query":"a","documents":"a"}`, 400, "documents"},
		{"/v1/rerank", `{"model":"emb","query":"a","documents":["a",{}]}`, 400, "documents[1]"},
		{"/v1/rerank", `{"model":"emb","query":"a","documents":[{"text":"a","x":1}]}`, 400, "documents[0].x"},
		{"/v1/rerank", `{"model":"emb","query":"a","documents":["a"],"top_n":0}`, 400, "top_n"},
		{"/v1/rerank", `{"model":"emb","query":"a","documents":["a","` + strings.Repeat("a ", 600) + `"]}`, 400, "documents"},
	} {
		w := do(h, "POST", c.path, c.body)
		if _, _, _, param := errorOf(t, w); w.Code != c.status || param != c.param {
			t.Errorf("%s %.80s: %d for %q, want %d for %q: %s", c.path, c.body, w.Code, param, c.status, c.param, w.Body)
		}
	}
	g := New(openGolden(t, "llama.gguf", engine.Options{Threads: 1, Name: "llama"}), Options{})
	for path, body := range map[string]string{
		"/v1/embeddings": `{"model":"llama","input":"a"}`, "/v1/rerank": `{"model":"llama","query":"a","documents":["a"]}`,
	} {
		w := do(g, "POST", path, body)
		if _, _, _, param := errorOf(t, w); w.Code != 400 || param != "model" {
			t.Errorf("%s of a model that generates: %d for %q", path, w.Code, param)
		}
	}
}

// TestRerank: the scores are the cosines of the embeddings, best first.
func TestRerank(t *testing.T) {
	e := openEmbedder(t, "bert.gguf", engine.Options{Threads: 1})
	h := New(e, Options{})
	texts := []string{"a dog", "the cat sat", "on the mat the cat", "the cat sat"}
	list, _ := json.Marshal(append([]string{"the cat sat"}, texts...))
	_, v := embedded(t, h, fmt.Sprintf(`{"model":"emb","input":%s}`, list))
	w := do(h, "POST", "/v1/rerank", `{"model":"emb","query":"the cat sat","documents":["a dog",{"text":"the cat sat"},"on the mat the cat","the cat sat"],"top_n":3,"return_documents":true}`)
	var out rerankReply
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(out.Results) != 3 || out.Results[0].Index != 1 || out.Results[1].Index != 3 {
		t.Fatalf("results %+v", out.Results)
	}
	for i, r := range out.Results {
		dot := 0.0
		for k, x := range v[0] {
			dot += float64(x) * float64(v[1+r.Index][k])
		}
		if math.Abs(dot-float64(r.Score)) > 1e-6 || r.Document == nil || r.Document.Text != texts[r.Index] {
			t.Errorf("result %d: %+v, want a score of %v", i, r, dot)
		}
	}
	st := e.Stats()
	if n := total(st.Prompt[metrics.Rerank]); n == 0 || n != uint64(out.Usage.PromptTokens) || out.Usage.TotalTokens != out.Usage.PromptTokens {
		t.Errorf("the counter says %d prompt tokens, the reply %+v", n, out.Usage)
	}
}

// total is an operation's count over all origins.
func total(byOrigin [metrics.NumOrigins]uint64) (n uint64) {
	for _, x := range byOrigin {
		n += x
	}
	return n
}
