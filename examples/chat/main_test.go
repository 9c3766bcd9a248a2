package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTalk holds a conversation: each answer is what the engine answers to the
// turns so far, and the turns before are found in its cache.
func TestTalk(t *testing.T) {
	eng, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const system = "You are brief, friendly and never at a loss."
	questions := []string{"What does paddock_kv_pages_used count?", "And which metric shows the time to the first token?"}
	var out strings.Builder
	if err := talk(eng, strings.NewReader(questions[0]+"\n\n"+questions[1]+"\n"), &out, system, 0); err != nil {
		t.Fatal(err)
	}
	turns := []paddock.Message{{Role: "system", Content: system}}
	want := ""
	for _, q := range questions {
		turns = append(turns, paddock.Message{Role: "user", Content: q})
		res, err := eng.Complete(context.Background(), paddock.Request{Messages: turns})
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, paddock.Message{Role: "assistant", Content: res.Text})
		want += "> " + res.Text + "\n"
	}
	want = strings.Replace(want, "\n> ", "\n> > ", 1) + "> \n" // the empty line asks nothing
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	if s := eng.Stats(); s.PrefixHits == 0 {
		t.Error("no turn was found in the cache")
	}
}

func TestTalkErrors(t *testing.T) {
	eng, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the terminal is gone")
	if err := talk(eng, iotest.ErrReader(broken), &strings.Builder{}, "", 0); !errors.Is(err, broken) {
		t.Errorf("a broken input gives %v", err)
	}
	eng.Close()
	if err := talk(eng, strings.NewReader("hello\n"), &strings.Builder{}, "", 0); !errors.Is(err, paddock.ErrClosed) {
		t.Errorf("a closed engine gives %v", err)
	}
	if _, err := open("no such file.gguf"); err == nil {
		t.Error("a missing file was opened")
	}
	if page := metrics.Default(); page.Faults() != 0 {
		t.Errorf("%d faults in the metrics", page.Faults())
	}
}
