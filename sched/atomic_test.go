package sched

import (
	"errors"
	"testing"
	"time"

	"github.com/paddock-go/paddock/kvcache"
)

// pooled makes a sequence of n tokens that generates nothing.
func pooled(id SeqID, n int, atomic bool) *Sequence {
	q := &Sequence{ID: id, Pooled: true, Atomic: atomic}
	for i := range n {
		q.Tokens = append(q.Tokens, int32(i))
	}
	return q
}

func newPooler(t *testing.T, pages int, l Limits) *Scheduler {
	t.Helper()
	pool, err := kvcache.New(pages, 16)
	if err != nil {
		t.Fatal(err)
	}
	return New(pool, l)
}

// step runs one step and returns the rows of each sequence in it; who was computed
// to the end ends.
func step(t *testing.T, s *Scheduler) map[SeqID]int {
	t.Helper()
	p := s.Next(0)
	rows := map[SeqID]int{}
	var out []Outcome
	for _, sp := range p.Spans {
		rows[sp.Seq.ID] = sp.Count
		if sp.Logits > 0 {
			out = append(out, Outcome{Seq: sp.Seq, Finish: ReasonStop})
		}
	}
	s.Commit(p, time.Millisecond, out)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func add(t *testing.T, s *Scheduler, q *Sequence) {
	t.Helper()
	if err := s.Add(0, q); err != nil {
		t.Fatal(err)
	}
}

// TestAtomicWhole: a sequence that can't be cut is in one step, also one longer
// than the chunk; what does not fit beside it waits, and nothing of it stays.
func TestAtomicWhole(t *testing.T) {
	s := newPooler(t, 64, Limits{MaxTokens: 100, MaxSequences: 8})
	add(t, s, pooled(1, 60, true)) // the first chunks are of 32 rows
	add(t, s, pooled(2, 20, true))
	add(t, s, pooled(3, 12, true))
	add(t, s, pooled(4, 1, true))
	for i, want := range []map[SeqID]int{{1: 60}, {2: 20, 3: 12}, {4: 1}} {
		got := step(t, s)
		if len(got) != len(want) {
			t.Fatalf("step %d: rows %v, want %v", i, got, want)
		}
		for id, n := range want {
			if got[id] != n {
				t.Fatalf("step %d: rows %v, want %v", i, got, want)
			}
		}
	}
	if st := s.Stats(); st.Pages.Used != 0 || st.Pages.Cached != 0 || st.PrefixQueries != 0 || st.PromptComputed != 93 || !s.Idle() {
		t.Errorf("after all have ended: %+v", st)
	}
	// One that may be cut finds nothing of the same tokens, and leaves what it computed.
	add(t, s, pooled(5, 60, false))
	for n := 0; !s.Idle(); n++ {
		if step(t, s); n > 5 {
			t.Fatal("it does not end")
		}
	}
	q := pooled(6, 60, false)
	add(t, s, q)
	step(t, s)
	if st := s.Stats(); st.PrefixHits != 48 || q.Cached() != 48 || !s.Idle() {
		t.Errorf("the second of two equal sequences found %d tokens, want 48: %+v", q.Cached(), st)
	}
}

func TestPooledRefused(t *testing.T) {
	s := newPooler(t, 4, Limits{MaxTokens: 50, MaxSequences: 8, MaxContext: 60})
	var long *ContextError
	if err := s.Add(0, pooled(1, 51, true)); !errors.As(err, &long) || long.Limit != 50 {
		t.Errorf("51 tokens that can't be cut into 50 rows: %v", err)
	}
	if err := s.Add(0, pooled(1, 61, false)); !errors.As(err, &long) || long.Limit != 60 {
		t.Errorf("61 tokens in a context of 60: %v", err)
	}
	add(t, s, pooled(1, 60, false)) // no room to generate is needed
	q := pooled(2, 5, true)
	q.MaxTokens = 3
	if err := s.Add(0, q); !errors.Is(err, ErrInvalid) {
		t.Errorf("a pooled sequence that is to generate: %v", err)
	}
	if err := s.Add(0, &Sequence{ID: 3, Tokens: []int32{1}, Atomic: true}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an atomic sequence that is to generate: %v", err)
	}
	s = newPooler(t, 3, Limits{MaxTokens: 100, MaxSequences: 8})
	var large *TooLargeError
	if err := s.Add(0, pooled(1, 49, true)); !errors.As(err, &large) || large.Need != 4 || large.Have != 3 {
		t.Errorf("49 tokens in 3 pages: %v", err)
	}
	add(t, s, pooled(1, 48, true))
}
