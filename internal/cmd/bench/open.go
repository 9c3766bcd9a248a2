package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/metrics"
)

// measureOpen is a program's way to its first token: the model opened as any importer
// opens it, and one token generated. Its rate is of that alone; what -peer compares is
// the time of the whole process.
func measureOpen(ctx context.Context, c *config, report func(any) error) (err error) {
	start := time.Now()
	level, err := findLevel(c.level)
	if err != nil {
		return err
	}
	dev := cpu.New(cpu.Options{Threads: c.threads, Level: level})
	e, err := engine.Open(c.model, engine.Options{
		Devices: []engine.Device{dev}, Threads: c.threads, MaxContext: openContext, KVPages: openContext / 16, KVType: c.kvType, Metrics: metrics.NewRecorder(metrics.RecorderOptions{NoMetrics: true}),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	out, err := e.Complete(ctx, engine.Request{Tokens: []int32{1}, MaxTokens: 1, IgnoreEOS: true})
	if err != nil {
		return err
	}
	if len(out.Choices) != 1 || len(out.Choices[0].Tokens) != 1 {
		return fmt.Errorf("open: %+v is not one token", out.Choices)
	}
	h := fnv.New64a()
	fmt.Fprint(h, out.Choices[0].Tokens[0])
	return report(row{Test: "open", Rate: 1 / time.Since(start).Seconds(), Threads: dev.Threads(), Backend: dev.Name(), Checksum: fmt.Sprintf("%016x", h.Sum64())})
}

// openContext is the context that the model is opened with: the least that llama-bench
// makes.
const openContext = 256
