package engine

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
)

// fakePicker is a fakeRunner that picks, as a device does.
type fakePicker struct {
	*fakeRunner
	last               []float32 // logits of the last Pick
	runs, picks, whole atomic.Int64
	broken             error // of Row
}

func (r *fakePicker) Run(b *prog.Batch, logits []float32) error {
	r.runs.Add(1)
	return r.fakeRunner.Run(b, logits)
}

func (r *fakePicker) Pick(b *prog.Batch, temps []float32, picks []backend.Pick) error {
	r.picks.Add(1)
	vocab := r.m.vocab
	r.last = make([]float32, len(b.Logits)*vocab)
	if err := r.fakeRunner.Run(b, r.last); err != nil {
		return err
	}
	for i := range b.Logits {
		row, p := r.last[i*vocab:(i+1)*vocab], &picks[i]
		*p = backend.Pick{NaN: int32(slices.IndexFunc(row, func(x float32) bool { return x != x }))}
		order := make([]int32, vocab)
		for id := range order {
			order[id] = int32(id)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case row[a] > row[b]:
				return -1
			case row[a] < row[b]:
				return 1
			}
			return 0
		})
		for k, id := range order {
			if k < backend.PickTokens {
				p.Logits[k], p.Tokens[k], p.Count = row[id], id, p.Count+1
			} else if temps[i] > 0 {
				p.Rest += float32(math.Exp(float64((row[id] - p.Logits[0]) / temps[i])))
			}
		}
	}
	return nil
}

func (r *fakePicker) Row(i int, logits []float32) error {
	if r.broken != nil {
		return r.broken
	}
	r.whole.Add(1)
	copy(logits, r.last[i*r.m.vocab:(i+1)*r.m.vocab])
	return nil
}

// openPicker is an engine over a fakePicker.
func openPicker(t *testing.T, m *fakeModel, o Options) (*Engine, *fakePicker) {
	var p *fakePicker
	m.wrap = func(r *fakeRunner) backend.Runner {
		p = &fakePicker{fakeRunner: r}
		return p
	}
	return openFake(t, m, o), p
}

// TestPicksChangeNoToken serves requests of all kinds by a runner that picks and by one
// that does not: they draw the same, and whole rows are asked for where they must be.
func TestPicksChangeNoToken(t *testing.T) {
	seed := int64(5)
	sampled := func(s Sampling) Sampling {
		s.Seed = &seed
		return s
	}
	for _, c := range []struct {
		name  string
		r     Request
		runs  bool // steps of the request are computed to whole rows
		whole bool // rows that picks do not decide are likely
	}{
		{"greedy", Request{}, false, false},
		{"top k", Request{Sampling: sampled(Sampling{Temperature: 0.9, TopK: 40, TopP: 0.9})}, false, false},
		{"temperature", Request{Sampling: sampled(Sampling{Temperature: 1}), N: 3}, false, true},
		{"cold", Request{Sampling: sampled(Sampling{Temperature: 0.05}), N: 2}, false, false},
		{"logprobs", Request{Logprobs: 3}, true, false},
		{"penalty", Request{Sampling: sampled(Sampling{Temperature: 1, RepetitionPenalty: 1.2})}, true, false},
		{"bias", Request{Sampling: Sampling{LogitBias: map[int32]float32{7: 3}}}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Tokens, c.r.MaxTokens, c.r.IgnoreEOS = []int32{1, 2, 3, 4, 5, 1, 2, 3}, 40, true
			for _, drafts := range []int{0, 3} {
				o := Options{KVPages: 256, Spec: Spec{NGram: drafts}}
				want := collect(t, openFake(t, &fakeModel{vocab: 200}, o), c.r)
				e, p := openPicker(t, &fakeModel{vocab: 200}, o)
				if got := collect(t, e, c.r); !reflect.DeepEqual(got, want) {
					t.Errorf("drafts %d: picked tokens are %v, those of whole rows %v", drafts, got, want)
				}
				runs, picks, whole := p.runs.Load(), p.picks.Load(), p.whole.Load()
				if c.runs && (picks != 0 || runs == 0) || !c.runs && picks == 0 {
					t.Errorf("drafts %d: %d steps ran to whole rows, %d picked", drafts, runs, picks)
				}
				if !c.whole && whole != 0 || c.whole && whole == 0 {
					t.Errorf("drafts %d: %d whole rows fetched", drafts, whole)
				}
			}
		})
	}
}

// TestPickFaults holds a row that is no number, which ends its request, and a device
// that fails while a row is fetched, which ends the engine's requests.
func TestPickFaults(t *testing.T) {
	r := Request{Tokens: []int32{9}, MaxTokens: 5, IgnoreEOS: true, Sampling: Sampling{Temperature: 1}}
	e, p := openPicker(t, &fakeModel{vocab: 200, nan: 9}, Options{KVPages: 64})
	var fault *TokenError
	if _, err := e.Complete(context.Background(), r); !errors.As(err, &fault) {
		t.Errorf("a NaN gives %v, want a TokenError", err)
	}
	r.Tokens = []int32{8}
	p.broken = errors.New("the device is gone")
	r.MaxTokens = 1000
	if _, err := e.Complete(context.Background(), r); !errors.Is(err, p.broken) {
		t.Errorf("a row that can't be fetched gives %v, want %v", err, p.broken)
	}
}
