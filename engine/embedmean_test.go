package engine

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// TestEmbedMeanOfCausal makes a decoder pool by the mean: since its rows see only
// what is before them, that is the mean of what the same model gives for every
// beginning of the text when it pools the last row. The running sums lie in the KV
// pages, so that chunks, cached prefixes and preemption change no bit.
func TestEmbedMeanOfCausal(t *testing.T) {
	kvs, tensors := copyOf(t, filepath.Join(golden.Dir(t), "models", "qwen3_embedding.gguf"))
	for i := range kvs {
		if kvs[i].Key == "qwen3.pooling_type" {
			kvs[i].Value = uint32(1)
		}
	}
	var file bytes.Buffer
	if err := ggufwrite.Write(&file, kvs, tensors); err != nil {
		t.Fatal(err)
	}
	mean := func(o Options) *Engine {
		o.Metrics = metrics.NewRecorder(metrics.RecorderOptions{})
		e, err := OpenFS(fstest.MapFS{"mean.gguf": {Data: file.Bytes()}}, "mean.gguf", o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	tokens, _ := goldenEmbeddings(t, "qwen3_embedding")
	text := tokens[3][:50]
	var beginnings [][]int32
	for n := range text {
		beginnings = append(beginnings, text[:n+1])
	}
	last, err := openGolden(t, "qwen3_embedding", Options{Threads: 1}).Embed(context.Background(), EmbedRequest{Tokens: beginnings, Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]int32{text, tokens[3], tokens[2], tokens[3][:48], text}
	var alone [][]float32
	e := mean(Options{Threads: 1, Limits: sched.Limits{NoPrefixCache: true, MaxStepTime: -1}})
	for _, list := range texts {
		r, err := e.Embed(context.Background(), EmbedRequest{Tokens: [][]int32{list}, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, r.Vectors[0])
	}
	for k, got := range alone[0] {
		want := 0.0
		for _, v := range last.Vectors {
			want += float64(v[k])
		}
		if want /= float64(len(text)); math.Abs(want-float64(got)) > 1e-5 {
			t.Errorf("value %d is %v, the mean of all rows %v", k, got, want)
		}
	}
	for _, o := range []Options{
		{Threads: 2, Limits: sched.Limits{MaxSequences: 5, MaxChunk: 7}},
		{Threads: 2, KVPages: 14, Limits: sched.Limits{MaxSequences: 5, MaxTokens: 64}},
	} {
		e := mean(o)
		for round := range 2 {
			r, err := e.Embed(context.Background(), EmbedRequest{Tokens: texts, Raw: true})
			if err != nil {
				t.Fatal(err)
			}
			if round == 1 && r.Usage.CachedTokens == 0 {
				t.Error("the second round found no cached prefix")
			}
			for i := range texts {
				if !slices.Equal(r.Vectors[i], alone[i]) {
					t.Errorf("%+v, round %d: text %d has other bits than alone", o.Limits, round, i)
				}
			}
		}
	}
}

// TestEmbedClosed: closing the engine ends a request at once, with what it says.
func TestEmbedClosed(t *testing.T) {
	e := openGolden(t, "bert", Options{Threads: 1, Limits: sched.Limits{MaxSequences: 1}})
	tokens, _ := goldenEmbeddings(t, "bert")
	done := make(chan error)
	go func() {
		_, err := e.Embed(context.Background(), EmbedRequest{Tokens: slices.Repeat(tokens, MaxTexts/len(tokens))})
		done <- err
	}()
	for e.Stats().Admitted == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("the request ended with %v", err)
	}
}
