//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory is the most bytes that an ended process had resident at once; 0 where
// the system doesn't say. A child begins with what its parent has, so this program
// keeps nothing large while it runs others.
func peakMemory(p *os.ProcessState) int64 {
	if p == nil {
		return 0
	}
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
