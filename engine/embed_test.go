package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// embedders are the golden models that embed; of the first of each kind all tests
// run, of the others the law.
var embedders = []string{"bert", "qwen3_embedding", "nomic_bert", "modern_bert", "gemma_embedding"}

func openGolden(t testing.TB, name string, o Options) *Engine {
	t.Helper()
	if o.Metrics == nil {
		o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
	}
	e, err := Open(filepath.Join(golden.Dir(t), "models", name+".gguf"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// goldenEmbeddings are the prompts and embeddings of a model.
func goldenEmbeddings(t testing.TB, name string) (tokens [][]int32, want [][]float64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Dir(t), "models", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Prompts []struct {
			Tokens []int32
			Pooled []float64
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Prompts {
		tokens, want = append(tokens, p.Tokens), append(want, p.Pooled)
	}
	return tokens, want
}

// TestEmbedLaw: a text's vector has the same bits alone, in a batch, in small
// chunks, beside other requests, behind cached prefixes, and on any number of
// threads; and they are the golden ones.
func TestEmbedLaw(t *testing.T) {
	for _, name := range embedders {
		t.Run(name, func(t *testing.T) {
			tokens, want := goldenEmbeddings(t, name)
			tokens = append(tokens, tokens[3][:90], tokens[2], tokens[3][:64], []int32{7, 9})
			alone := make([][]float32, len(tokens))
			e := openGolden(t, name, Options{Threads: 1, Limits: sched.Limits{NoPrefixCache: true, MaxStepTime: -1}})
			for i, list := range tokens {
				r, err := e.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{list}, Raw: true})
				if err != nil {
					t.Fatal(err)
				}
				alone[i] = r.Vectors[0]
				if i < len(want) && !near(r.Vectors[0], want[i]) {
					t.Errorf("text %d is not the golden one", i)
				}
			}
			for _, o := range []Options{
				{Threads: 2},
				{Threads: 3, Limits: sched.Limits{MaxSequences: 3, MaxTokens: 256, MaxChunk: 7}},
				{Threads: 2, KVPages: 32, Limits: sched.Limits{MaxSequences: 8, MaxQueue: 2}},
			} {
				e := openGolden(t, name, o)
				for round := range 2 { // the second finds what the first left
					r, err := e.Embed(context.Background(), EmbedRequest{Tokens: tokens, Raw: true})
					if err != nil {
						t.Fatal(err)
					}
					for i := range tokens {
						if !slices.Equal(r.Vectors[i], alone[i]) {
							t.Errorf("%+v, round %d: text %d has other bits than alone", o, round, i)
						}
					}
				}
				st := e.Stats()
				if err := metrics.CheckBooks(&st); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func near(got []float32, want []float64) bool {
	var dot, aa, bb float64
	for i := range want {
		x := float64(got[i])
		dot, aa, bb = dot+x*want[i], aa+x*x, bb+want[i]*want[i]
	}
	return len(got) == len(want) && 1-dot/math.Sqrt(aa*bb) <= 1e-6
}

// TestEmbedShapes: dimensions are cut before the length is made 1.
func TestEmbedShapes(t *testing.T) {
	e := openGolden(t, "bert", Options{Threads: 1})
	tokens, _ := goldenEmbeddings(t, "bert")
	raw, err := e.Embed(context.Background(), EmbedRequest{Tokens: tokens, Raw: true, Dimensions: 10})
	if err != nil {
		t.Fatal(err)
	}
	unit, err := e.Embed(context.Background(), EmbedRequest{Tokens: tokens, Dimensions: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		if len(raw.Vectors[i]) != 10 || len(unit.Vectors[i]) != 10 {
			t.Fatalf("%d and %d dimensions, want 10", len(raw.Vectors[i]), len(unit.Vectors[i]))
		}
		length, scale := 0.0, float64(raw.Vectors[i][0])/float64(unit.Vectors[i][0])
		for k, x := range unit.Vectors[i] {
			length += float64(x) * float64(x)
			if math.Abs(float64(x)*scale-float64(raw.Vectors[i][k])) > 1e-5*math.Abs(scale) {
				t.Errorf("text %d: value %d points elsewhere", i, k)
			}
		}
		if math.Abs(length-1) > 1e-6 {
			t.Errorf("text %d: the squares add up to %v", i, length)
		}
	}
	if raw.Usage.PromptTokens != 241 || unit.Usage.PromptTokens != 241 {
		t.Errorf("usage %+v and %+v, want 241 tokens", raw.Usage, unit.Usage)
	}
}

func TestEmbedRefused(t *testing.T) {
	e := openGolden(t, "bert", Options{Threads: 1, MaxContext: 100})
	long := slices.Repeat([]int32{5}, 101)
	for _, c := range []struct {
		name string
		r    EmbedRequest
		want any
	}{
		{"nothing", EmbedRequest{}, new(*RequestError)},
		{"both forms", EmbedRequest{Texts: []string{"a"}, Tokens: [][]int32{{1}}}, new(*RequestError)},
		{"no entry", EmbedRequest{Texts: []string{}}, new(*RequestError)},
		{"an empty entry", EmbedRequest{Tokens: [][]int32{{1}, {}}}, new(*RequestError)},
		{"an unknown token", EmbedRequest{Tokens: [][]int32{{1}, {2, 512}}}, new(*RequestError)},
		{"too many", EmbedRequest{Tokens: make([][]int32, MaxTexts+1)}, new(*RequestError)},
		{"dimensions", EmbedRequest{Tokens: [][]int32{{1}}, Dimensions: 65}, new(*RequestError)},
		{"too long", EmbedRequest{Tokens: [][]int32{{1}, long}}, new(*ContextError)},
	} {
		if _, err := e.Embed(context.Background(), c.r); err == nil || !errors.As(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := e.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{long[:100]}}); err != nil {
		t.Errorf("a text as long as the context: %v", err)
	}
	if _, err := e.Complete(context.Background(), Request{Tokens: []int32{1}}); !errors.Is(err, ErrNoText) {
		t.Errorf("generating from a model that embeds: %v", err)
	}
	g := openGolden(t, "llama", Options{Threads: 1})
	if _, err := g.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{{1}}}); !errors.Is(err, ErrNoEmbeddings) {
		t.Errorf("embedding with a model that generates: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{{1}}}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestEmbedCancelled: a request whose context ends gives everything back, and the
// others go on. All are in the books.
func TestEmbedCancelled(t *testing.T) {
	rec := metrics.NewRecorder(metrics.RecorderOptions{})
	e := openGolden(t, "qwen3_embedding", Options{Threads: 1, Metrics: rec, Limits: sched.Limits{MaxSequences: 4}})
	tokens, _ := goldenEmbeddings(t, "qwen3_embedding")
	many := slices.Repeat(tokens, 100)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ctx := context.Background()
			if i%2 == 0 {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, 5*time.Millisecond)
				defer stop()
				if _, err := e.Embed(ctx, EmbedRequest{Tokens: many}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a request out of time: %v", err)
				}
				return
			}
			if _, err := e.Embed(ctx, EmbedRequest{Tokens: many[:20]}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	st := e.Stats()
	if err := metrics.CheckBooks(&st); err != nil {
		t.Error(err)
	}
	if st.Running != 0 || st.PagesUsed != 0 {
		t.Errorf("%d run and %d pages are used after the last reply", st.Running, st.PagesUsed)
	}
}

// TestEmbedRecord: a request of many texts is one in the metrics, with the tokens
// that the reply and the counters say.
func TestEmbedRecord(t *testing.T) {
	e := openGolden(t, "bert", Options{Threads: 1, Limits: sched.Limits{MaxSequences: 3}})
	tokens, _ := goldenEmbeddings(t, "bert")
	rec := &metrics.Record{Operation: metrics.Embeddings, Edge: true}
	r, err := e.Embed(metrics.NewContext(context.Background(), rec), EmbedRequest{Tokens: slices.Repeat(tokens, 5)})
	if err != nil {
		t.Fatal(err)
	}
	st := e.Stats()
	if n := 5 * 241; r.Usage.PromptTokens != n || rec.PromptTokens != n || st.Prompt[metrics.Embeddings][rec.Origin] != uint64(n) {
		t.Errorf("the reply says %d, the record %d, the counter %d; want %d", r.Usage.PromptTokens, rec.PromptTokens, st.Prompt[metrics.Embeddings][rec.Origin], n)
	}
	if rec.Finish != metrics.Stop || rec.Fail != metrics.NoFail || rec.GeneratedTokens != 0 || rec.KVPages < 13 {
		t.Errorf("record: %+v", rec)
	}
	if !(rec.Arrival > 0 && rec.Arrival <= rec.Queued && rec.Queued <= rec.Scheduled && rec.First == 0) {
		t.Errorf("stamps %v, %v, %v, first %v", rec.Arrival, rec.Queued, rec.Scheduled, rec.First)
	}
	if st.Admitted != 20 || st.FinishedTotal() != 20 {
		t.Errorf("%d sequences admitted, %d finished, want 20", st.Admitted, st.FinishedTotal())
	}
}

// TestKeysAround compares the count of what rows see both ways with one by hand.
func TestKeysAround(t *testing.T) {
	for count := 1; count < 12; count++ {
		for window := range 15 {
			n := 0
			for p := range count {
				for k := range count {
					if window == 0 || max(p-k, k-p) <= window/2 {
						n++
					}
				}
			}
			if got := keysAround(count, window); got != float64(n) {
				t.Errorf("%d rows with a window of %d see %v keys, want %d", count, window, got, n)
			}
		}
	}
}
