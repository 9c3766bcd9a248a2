// Command manager shows a machine: its GPUs, its runners (servers of paddock, see examples/server), and what they did. It reads NVML, which
// a runner never does, and the runners' own API; it never shows a runner's metrics as its own.
//
//	go run ./examples/manager                                        # finds runners on ports 11540 to 11559 of this machine
//	go run ./examples/manager --runner http://10.0.0.7:11540 --runner-key K
//	go run ./examples/manager --dcgm-addr :9400 --metrics-auth off   # also what dashboards and aiperf read of dcgm-exporter
//	curl -N http://127.0.0.1:11500/api/gpu/stream
//
// Paths:
//
//	/                                        the page of examples/studio
//	/metrics                                 the GPUs as paddock_gpu_*, and this process
//	/api/gpu, /api/gpu/stream                the GPUs as JSON, once or as server-sent events
//	/api/runners                             the runners: health, models, when they were last seen
//	/api/runners/{id}/activity?limit=        a runner's newest ended requests, over its restarts
//	/api/usage?from=&to=&step=&runner=       what the runners did: counts, tokens and histograms in slots of 10s, 1m or 1h, and the gaps
//	/api/runners/{id}/v1/…                   the runner's API, and its /api/stats, /api/rollups and /api/events
//	/healthz, /readyz
//
// Access is as a runner's: this machine without a key, others with it. The history lies in one file, in the user's cache folder or in
// --data. This process killed at any moment loses no slot that had ended, as long as the runner still has it, and nothing counts twice. A
// runner killed loses what wasn't read: it is read every 2 s and some 20 ms after each slot of 10 s has ended, so a slot is lost, within a
// gap that says so, only if the kill falls between its end and the end of that reading.
//
// Without a driver, and where another process of the machine reads the GPUs, all but the GPUs works.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	}
	ctx, stop := untilSignal()
	defer stop()
	if err := run(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// untilSignal gives a context that the first signal to end ends. The second one ends the process, whatever is waited for.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
