//go:build !linux

package cpu

import "time"

func nap(d time.Duration) { time.Sleep(d) }
