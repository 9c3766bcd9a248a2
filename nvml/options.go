package nvml

import (
	"log/slog"
	"time"
)

// Options say where the library and the lock are. The zero value is right for a
// machine with a driver.
type Options struct {
	// Library are paths or names to try instead of the usual ones, in order.
	Library []string
	// LockPath is the file that the polling process locks. Empty: one that every user
	// of the machine finds; see [Poller]. Only a Poller locks.
	LockPath string
	// Clock is the time, for tests. nil: the system's.
	Clock Clock
	// Logger is told of devices lost and found. nil: slog.Default().
	Logger *slog.Logger
}

// Clock is what a Poller knows of time. It is used by several goroutines at once.
type Clock interface {
	Now() time.Time
	// Timer gives a channel that receives once after d, and what stops it.
	Timer(d time.Duration) (fires <-chan time.Time, stop func())
}

func (o Options) withDefaults() Options {
	if len(o.Library) == 0 {
		o.Library = candidates()
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
