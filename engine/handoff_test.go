package engine

import (
	"context"
	"runtime"
	"testing"
)

// TestHandOff asks that a reader has its token before the next step is run, also
// where Go has one processor and the loop never waits: counted in steps that were
// run meanwhile. (Now and then the scheduler runs the loop first; never for long.)
func TestHandOff(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := &fakeModel{}
	e := openFake(t, m, Options{KVPages: 64})
	const tokens = 300
	s, err := e.Submit(context.Background(), Request{Tokens: prompt(5, 1), MaxTokens: tokens, IgnoreEOS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	late, got := 0, 0
	for {
		_, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got++
		if m.steps.Load() > int64(got) { // the prompt's step made the first
			late++
		}
		if s.Age() < 0 {
			t.Fatalf("token %d is of the future", got)
		}
	}
	if got != tokens || late > tokens/10 {
		t.Errorf("%d of %d tokens came after a later step had run, at most %d may", late, got, tokens/10)
	}
}
