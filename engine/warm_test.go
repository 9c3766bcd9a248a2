package engine

import (
	"context"
	"runtime"
	"testing"

	"github.com/paddock-go/paddock/examples/demo"
	"github.com/paddock-go/paddock/metrics"
	"github.com/paddock-go/paddock/sched"
)

// TestWarmStepAllocatesZeroBytes runs a real model on the CPU backend: between two
// tokens of running requests, with logprobs, sampling and metrics on, not one byte
// is allocated by anyone in the process. The best of some runs counts, since the
// runtime has needs of its own now and then.
func TestWarmStepAllocatesZeroBytes(t *testing.T) {
	e, err := OpenFS(demo.Files, demo.Name, Options{
		Threads: 2, Metrics: metrics.NewRecorder(metrics.RecorderOptions{}), Limits: sched.Limits{MaxSequences: 8}, ResidencySample: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seed := int64(3)
	s, err := e.Submit(context.Background(), Request{
		Tokens: randomTokens(40, 1, e.VocabSize()), MaxTokens: 480, IgnoreEOS: true, Logprobs: 6, N: 2,
		Sampling: Sampling{Temperature: 0.8, TopP: 0.9, Seed: &seed},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pull := func(n int) { // what Stream.Next does before it makes text of a token
		for range n {
			for {
				_, have, resumed, ended, _ := s.job.ring.pop(s.top)
				if resumed {
					e.inbox.post(command{kind: cmdUnpark, job: s.job})
				}
				if have {
					break
				}
				if ended {
					t.Fatal("the stream ended")
				}
				<-s.job.ring.wake
			}
		}
	}
	pull(200) // buffers have their sizes
	least := ^uint64(0)
	for range 40 { // short ones: once a second the rollups may take room for a slot
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pull(16)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least != 0 {
		t.Errorf("%d bytes allocated over 8 steps, want 0", least)
	}
}
