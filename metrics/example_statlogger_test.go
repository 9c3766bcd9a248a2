package metrics_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/paddock-go/paddock/metrics"
)

// accounts is a StatLogger of one's own: it adds up what finished requests used, and hands on how busy the engines are.
type accounts struct {
	prompt, generated atomic.Int64
	busy              chan string
}

// OpenEngine makes the accounts an observer of every engine.
func (a *accounts) OpenEngine(metrics.EngineInfo) metrics.Observer { return a }

// Step is called by the loop after each step: it must be quick, and must not block.
func (a *accounts) Step(*metrics.StepStats) {}

// Finish is called once for each request, whatever its end.
func (a *accounts) Finish(r *metrics.Record) {
	a.prompt.Add(int64(r.PromptTokens))
	a.generated.Add(int64(r.GeneratedTokens))
}

// Log is called every LogInterval.
func (a *accounts) Log(engines []metrics.EngineStats) {
	for _, e := range engines {
		select {
		case a.busy <- fmt.Sprintf("engine %d, %s: %d running", e.Index, e.Model, e.Snapshot.Running):
		default: // nobody waits for it
		}
	}
}

// A StatLogger of one's own. The built-in one is metrics.LogStats(logger), which writes a line for each engine every 10 s.
func ExampleStatLogger() {
	own := &accounts{busy: make(chan string, 1)}
	rec := metrics.NewRecorder(metrics.RecorderOptions{
		StatLoggers: []metrics.StatLogger{own},
		LogInterval: time.Millisecond, // every 10 s, left alone
	})
	model, err := rec.OpenModel("tiny", []metrics.Operation{metrics.Chat}, &counters{metrics.Snapshot{Admitted: 2, Running: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	fmt.Println(<-own.busy)

	request := &metrics.Record{Operation: metrics.Chat, Arrival: rec.Now(), PromptTokens: 9, Finish: metrics.Stop}
	request.Open(1)
	request.Token(0, rec.Now(), 3)
	model.Finish(request)
	fmt.Println(own.prompt.Load(), "prompt tokens,", own.generated.Load(), "generated")
	// Output:
	// engine 0, tiny: 2 running
	// 9 prompt tokens, 3 generated
}
