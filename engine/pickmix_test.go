package engine

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestPicksOfMixedRequests: requests of all kinds at once, so that steps pick for some
// rows and fetch others whole, have the tokens and log probabilities that each has alone
// on a runner that does not pick.
func TestPicksOfMixedRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	of := func(list ...float32) float32 { return list[rng.IntN(len(list))] }
	const vocab = 150
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		var requests []Request
		for range 8 {
			seed := rng.Int64()
			r := Request{Tokens: prompt(1+rng.IntN(40), rng.Uint64()), MaxTokens: 1 + rng.IntN(25), N: 1 + rng.IntN(3)}
			r.Sampling = Sampling{
				Temperature: of(0, 1e-40, 0.05, 0.7, 1, 2), TopK: int(of(0, 0, 1, 40, 64, 65, 100)), TopP: of(0, 0.5, 0.9, 0.999, 1),
				MinP: of(0, 0, 0.05, 0.5), Seed: &seed,
			}
			kind := rng.IntN(16)
			if round%3 == 0 {
				kind = -1 // all may be picked for
			}
			switch kind {
			case 0:
				r.RepetitionPenalty = of(0.9, 1.3)
			case 1:
				r.PresencePenalty, r.FrequencyPenalty = of(-1, 0.5), of(0, 0.7)
			case 2:
				r.LogitBias = map[int32]float32{int32(rng.IntN(vocab)): of(-5, 5)}
			case 3:
				r.MinTokens, r.StopTokens = min(3, r.MaxTokens), []int32{1, 2, 3, 4, 5, 6, 7, 8}
			case 4:
				r.Logprobs = 1 + rng.IntN(3)
			}
			requests = append(requests, r)
		}
		o := Options{KVPages: 512, Spec: Spec{NGram: 3 * (round % 2)}}
		alone := openFake(t, &fakeModel{vocab: vocab}, o)
		picks, p := openPicker(t, &fakeModel{vocab: vocab}, o)
		var streams []*Stream
		for _, r := range requests {
			s, err := picks.Submit(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, s)
		}
		for i, s := range streams {
			want, err := alone.Complete(context.Background(), requests[i])
			if err != nil {
				t.Fatal(err)
			}
			got := make([][]Token, max(1, requests[i].N))
			for tok, err := range s.All() {
				if err != nil {
					t.Fatal(err)
				}
				got[tok.Choice] = append(got[tok.Choice], tok)
			}
			for c := range got {
				if len(got[c]) != len(want.Choices[c].Tokens) {
					t.Fatalf("round %d, request %d, choice %d: %d tokens, want %d", round, i, c, len(got[c]), len(want.Choices[c].Tokens))
				}
				for k, tok := range got[c] {
					if w := want.Choices[c].Tokens[k]; tok.ID != w.ID || tok.Logprob != w.Logprob || !reflect.DeepEqual(tok.Top, w.Top) {
						t.Fatalf("round %d, request %+v, choice %d, token %d: %+v, want %+v", round, requests[i], c, k, tok, w)
					}
				}
			}
		}
		if p.picks.Load() == 0 || p.whole.Load() == 0 && round%3 != 0 {
			t.Errorf("round %d: %d steps picked, %d rows were fetched whole", round, p.picks.Load(), p.whole.Load())
		}
	}
}
