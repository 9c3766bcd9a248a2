package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// TestRefusedAlone sends requests that nothing can be made of: each is refused for
// the field at fault, and the engine serves the next as if it had not been.
func TestRefusedAlone(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64})
	strange := metrics.NewContext(context.Background(), &metrics.Record{Operation: 77})
	for field, c := range map[string]struct {
		ctx context.Context
		r   Request
	}{
		"Origin":                       {nil, Request{Tokens: prompt(3, 1), Origin: 77}},
		"the context's metrics.Record": {strange, Request{Tokens: prompt(3, 1)}},
		"Tools":                        {nil, Request{Tokens: prompt(3, 1), Tools: json.RawMessage(`[]`)}},
		"TemplateArgs":                 {nil, Request{Tokens: prompt(3, 1), TemplateArgs: json.RawMessage(`{}`)}},
		"MaxTokens":                    {nil, Request{Tokens: prompt(3, 1), MaxTokens: 1 << 31}},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		_, err := e.Complete(ctx, c.r)
		var request *RequestError
		if !errors.As(err, &request) || request.Field != field {
			t.Errorf("%s: %v, want a RequestError", field, err)
		}
		if field == "MaxTokens" && !strings.Contains(err.Error(), "is 2147483648, must be between 0 and 2147483647") {
			t.Errorf("%v", err)
		}
		if got := len(collect(t, e, Request{Tokens: prompt(3, 1), MaxTokens: 2})[0]); got != 2 {
			t.Errorf("after %s: %d tokens, want 2", field, got)
		}
	}
	settle(t, e)
	if n := e.Metrics().Faults(); n != 0 {
		t.Errorf("%d faults in metrics", n)
	}
}

// TestPanicWithoutStack asks that the error that a client may see tells of no
// stack.
func TestPanicWithoutStack(t *testing.T) {
	m := &fakeModel{}
	m.panic.Store(true)
	e := openFake(t, m, Options{KVPages: 64})
	_, err := e.Complete(context.Background(), Request{Tokens: prompt(3, 1)})
	var device *DeviceError
	if !errors.As(err, &device) || strings.Contains(err.Error(), "goroutine") {
		t.Errorf("got %v", err)
	}
}

// TestPoolSmallerThanContext asks that an answer without a limit of its own ends
// where the pool does, for the reader too.
func TestPoolSmallerThanContext(t *testing.T) {
	for _, n := range []int{1, 3} {
		for _, draft := range []int{0, 4} {
			e := openFake(t, &fakeModel{}, Options{KVPages: 4, Spec: Spec{NGram: draft}})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			r, err := e.Complete(ctx, Request{Tokens: prompt(3, 1), N: n})
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range r.Choices {
				if want := 4 / n * pageSize; a.Finish != FinishLength || 3+len(a.Tokens) != want {
					t.Errorf("choice %d of %d: %d tokens, %v; want %d, length", i, n, len(a.Tokens), a.Finish, want-3)
				}
			}
			settle(t, e)
		}
	}
}

// TestTooLongIsCounted asks that a prompt which Submit refuses by itself is among
// the rejections.
func TestTooLongIsCounted(t *testing.T) {
	e := openFake(t, &fakeModel{}, Options{KVPages: 64, MaxContext: 16})
	var long *ContextError
	if _, err := e.Complete(context.Background(), Request{Tokens: prompt(16, 1)}); !errors.As(err, &long) {
		t.Fatal(err)
	}
	s := settle(t, e)
	if got := s.Rejected[metrics.RejectContextLength]; got != 1 {
		t.Errorf("%d rejections for length, want 1", got)
	}
}
