//go:build !unix

package main

import "time"

var begun = time.Now()

// cpuTime is the wall time: there is no count of the CPU's here, and the benchmark
// computes on one goroutine.
func cpuTime() time.Duration { return time.Since(begun) }
