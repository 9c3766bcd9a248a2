package metrics

import (
	"sync/atomic"
	"testing"
	"time"
)

// testClock is a time that passes when a test says so. The day begins on a full hour.
type testClock struct {
	now atomic.Int64 // the recorder's clock
	set atomic.Int64 // how far the time of day has been set
}

var clockStart = time.Date(2025, 7, 14, 9, 0, 0, 0, time.UTC)

func newTestClock() *testClock {
	c := &testClock{}
	c.now.Store(int64(time.Hour))
	return c
}

func (c *testClock) Now() time.Duration { return time.Duration(c.now.Load()) }

func (c *testClock) Wall() time.Time {
	return clockStart.Add(time.Duration(c.now.Load() + c.set.Load()))
}

func (c *testClock) pass(d time.Duration) { c.now.Add(int64(d)) }

// options are those of a recorder on the clock.
func (c *testClock) recorder(t testing.TB, o RecorderOptions) *Recorder {
	t.Helper()
	r := newTestRecorder(o)
	r.now, r.opts.test.now, r.opts.test.wall = c.Now, c.Now, c.Wall
	return r
}
