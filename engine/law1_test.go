package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/golden"
	"github.com/paddock-go/paddock/internal/sample"
	"github.com/paddock-go/paddock/internal/session"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// models are the real models that the laws are held on: the embedded one, and the
// tiny ones of the golden data where it is there.
func models(t *testing.T) map[string]func(t *testing.T) string {
	list := map[string]func(t *testing.T) string{
		"demo": func(t *testing.T) string {
			file, err := demo.Files.ReadFile(demo.Name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), demo.Name)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		},
	}
	for _, name := range []string{"llama_gqa_tied", "deepseek2", "gptoss_mxfp4", "qwen2", "qwen3", "lfm2"} {
		list[name] = func(t *testing.T) string { return filepath.Join(golden.Dir(t), "models", name+".gguf") }
	}
	return list
}

// reference answers a request from bare logits, without scheduler, cache or batch:
// one step for the prompt, one for each token.
func reference(t *testing.T, s *session.Session, r Request) [][]Token {
	t.Helper()
	seed := int64(0)
	if r.Seed != nil {
		seed = *r.Seed
	}
	var out [][]Token
	for choice := range max(r.N, 1) {
		p := r.params(seed, nil)
		p.Choice = choice
		sampler, scratch := sample.New(p, sample.See(p, r.Tokens)), sample.NewScratch(s.Vocab())
		var tokens []Token
		from, known := 0, r.Tokens
		for len(tokens) < r.MaxTokens {
			logits, err := s.Step(session.Span{From: from, Tokens: known[from:]})
			if err != nil {
				t.Fatal(err)
			}
			id, err := sampler.Next(logits, len(known), len(tokens), scratch)
			if err != nil {
				t.Fatal(err)
			}
			sampler.Accept(id)
			tok, top := Token{ID: id, Choice: choice}, make([]sample.Alternative, r.Logprobs-1)
			tok.Logprob = sample.Logprobs(logits, id, top)
			for _, a := range top {
				tok.Top = append(tok.Top, TokenLogprob{a.Token, a.Logprob})
			}
			tokens = append(tokens, tok)
			from, known = len(known), append(known[:len(known):len(known)], id)
		}
		out = append(out, tokens)
	}
	return out
}

// sameBits compares tokens and logprobs bit by bit.
func sameBits(got, want []Token) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d tokens, want %d", len(got), len(want))
	}
	bits := func(i int, g, w TokenLogprob) error {
		if g.ID != w.ID || math.Float32bits(g.Logprob) != math.Float32bits(w.Logprob) {
			return fmt.Errorf("token %d: %d with %v (%#x), want %d with %v (%#x)", i, g.ID, g.Logprob, math.Float32bits(g.Logprob), w.ID, w.Logprob, math.Float32bits(w.Logprob))
		}
		return nil
	}
	for i, w := range want {
		g := got[i]
		if len(g.Top) != len(w.Top) {
			return fmt.Errorf("token %d: %d alternatives, want %d", i, len(g.Top), len(w.Top))
		}
		if err := bits(i, TokenLogprob{g.ID, g.Logprob}, TokenLogprob{w.ID, w.Logprob}); err != nil {
			return err
		}
		for k := range w.Top {
			if err := bits(i, g.Top[k], w.Top[k]); err != nil {
				return fmt.Errorf("alternative %d: %w", k, err)
			}
		}
	}
	return nil
}

// schedule is one way to serve the same request.
type schedule struct {
	batch, chunk, threads int
	warm, preempted, spec bool
}

func (s schedule) String() string {
	return fmt.Sprintf("batch=%d,chunk=%d,threads=%d,warm=%v,preempted=%v,spec=%v", s.batch, s.chunk, s.threads, s.warm, s.preempted, s.spec)
}

// schedules are drawn at random from all combinations, each value at least once.
func schedules(n int) []schedule {
	batches, chunks, bools := []int{1, 8, 64}, []int{1, 7, 512}, []bool{false, true}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var list []schedule
	for i := range n {
		s := schedule{batches[rng.IntN(3)], chunks[rng.IntN(3)], 1 + rng.IntN(2), bools[rng.IntN(2)], bools[rng.IntN(2)], bools[rng.IntN(2)]}
		if i < 6 { // the first ones walk through every value
			s = schedule{batches[i%3], chunks[(i+i/3)%3], 1 + i%2, i%2 == 0, i%3 == 1, i >= 3}
		}
		list = append(list, s)
	}
	return list
}

// TestLaw1 serves the same requests under random schedules: tokens and logprobs are
// those of the bare logits, bit by bit.
func TestLaw1(t *testing.T) {
	n := 12
	if testing.Short() {
		n = 6
	}
	for name, path := range models(t) {
		t.Run(name, func(t *testing.T) {
			file := path(t)
			device := cpu.New(cpu.Options{Threads: 1})
			defer device.Close()
			s, err := session.Open(file, device, session.Limits{Seqs: 1, Context: 512, Rows: 512, Logits: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			requests := lawRequests(s.Vocab())
			want := make([][][]Token, len(requests))
			for i, r := range requests {
				want[i] = reference(t, s, r)
			}
			for _, sc := range schedules(n) {
				t.Run(sc.String(), func(t *testing.T) { sc.hold(t, file, s.Vocab(), requests, want) })
			}
		})
	}
}

// lawRequests are greedy and drawn, penalised and biased, with one choice and
// several, short and of many pages; two begin alike.
func lawRequests(vocab int) []Request {
	seed := int64(42)
	long := randomTokens(150, 1, vocab)
	return []Request{
		{Tokens: long, MaxTokens: 48, Logprobs: 4, IgnoreEOS: true},
		{Tokens: append(append([]int32{}, long[:100]...), randomTokens(30, 2, vocab)...), MaxTokens: 40, Logprobs: 2, IgnoreEOS: true,
			Sampling: Sampling{Temperature: 0.9, TopP: 0.95, TopK: 50, Seed: &seed}},
		{Tokens: randomTokens(3, 3, vocab), MaxTokens: 30, Logprobs: 21, IgnoreEOS: true,
			Sampling: Sampling{Temperature: 1.2, MinP: 0.01, Seed: &seed, RepetitionPenalty: 1.1, PresencePenalty: 0.5, FrequencyPenalty: 0.2, LogitBias: map[int32]float32{5: -3, 7: 2}}},
		{Tokens: randomTokens(40, 4, vocab), MaxTokens: 18, Logprobs: 1, IgnoreEOS: true, N: 3, Sampling: Sampling{Temperature: 1, Seed: &seed}},
	}
}

func randomTokens(n int, seed uint64, vocab int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 11))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(rng.IntN(vocab))
		if i%3 == 2 { // repetitions, for the drafts
			out[i] = out[i/2]
		}
	}
	return out
}

// hold serves the requests as the schedule says and compares.
func (sc schedule) hold(t *testing.T, file string, vocab int, requests []Request, want [][][]Token) {
	o := Options{
		MaxContext: 512, KVPages: 1024, Metrics: metrics.NewRecorder(metrics.RecorderOptions{}),
		Limits: sched.Limits{MaxChunk: sc.chunk, MaxTokens: 512},
	}
	if sc.spec {
		o.Spec.NGram = 6
	}
	if sc.preempted {
		o.KVPages = 26 // any request fits alone; all with their mates would need twice as many
	}
	device := &gatedDevice{Device: cpu.New(cpu.Options{Threads: sc.threads}), gate: make(chan struct{})}
	defer device.Close()
	o.Devices = []Device{device}
	e, err := Open(file, o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	if sc.warm {
		for _, r := range requests {
			if _, err := e.Complete(ctx, Request{Tokens: r.Tokens, MaxTokens: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(i int) {
		res, err := e.Complete(ctx, requests[i])
		if err != nil {
			t.Errorf("request %d: %v", i, err)
			return
		}
		for k, a := range res.Choices {
			if err := sameBits(a.Tokens, want[i][k]); err != nil {
				t.Errorf("request %d, choice %d: %v", i, k, err)
			}
		}
		if n := len(requests[i].Tokens); sc.warm && !sc.preempted && res.Usage.CachedTokens != (n-1)/pageSize*pageSize {
			t.Errorf("request %d: %d tokens cached of %d", i, res.Usage.CachedTokens, n)
		}
	}
	var wg sync.WaitGroup
	if sc.batch == 1 && !sc.preempted {
		for i := range requests {
			check(i)
		}
	} else {
		// The first step waits until all have come, so that they meet on a machine of any
		// speed. Mates go first, so that the requests are the ones preempted.
		device.closed.Store(true)
		before, sequences := e.Stats().Admitted, 0
		mates := max(0, sc.batch-len(requests))
		if sc.preempted {
			mates = max(mates, 8)
		}
		for i, r := range requests {
			sequences += max(r.N, 1)
			wg.Go(func() { check(i) })
		}
		for i := range mates {
			r := Request{Tokens: randomTokens(1+i%15, uint64(100+i), vocab), MaxTokens: 60, IgnoreEOS: true, Priority: 1}
			if !sc.preempted {
				r.Tokens, r.MaxTokens = randomTokens(1+7*i%60, uint64(100+i), vocab), 10+i%30
			}
			wg.Go(func() {
				if _, err := e.Complete(ctx, r); err != nil {
					t.Error(err)
				}
			})
		}
		waitTaken(e, before+uint64(sequences+mates))
		close(device.gate)
	}
	wg.Wait()
	s := settle(t, e)
	t.Logf("%d preemptions, %d recomputed, %d drafts accepted, %d prefix hits", s.Preemptions, s.Recomputed, s.Spec.AcceptedTokens, s.PrefixHits)
	if sc.preempted && s.Preemptions == 0 {
		t.Error("no preemption happened")
	}
}
