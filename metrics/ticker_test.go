package metrics

import (
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// bubble is a recorder on the clock of a synctest bubble, with its goroutines.
func bubble(o RecorderOptions) *Recorder {
	start := time.Now()
	o.test.now, o.test.ticks = func() time.Duration { return time.Hour + time.Since(start) }, true
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	return NewRecorder(o)
}

// logTimes notes when it is called.
type logTimes struct {
	mu    sync.Mutex
	times []time.Duration
	start time.Time
	then  func()
}

func (l *logTimes) OpenEngine(EngineInfo) Observer { return nil }

func (l *logTimes) Log([]EngineStats) {
	l.mu.Lock()
	l.times = append(l.times, time.Since(l.start))
	l.mu.Unlock()
	if l.then != nil {
		l.then()
	}
}

func (l *logTimes) seen() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.times)
}

func TestTickerRunsWhileAModelIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logTimes{start: time.Now()} // at midnight: intervals begin with the bubble
		r := bubble(RecorderOptions{StatLoggers: []StatLogger{log}, LogInterval: 4 * time.Second})
		before := runtime.NumGoroutine()
		time.Sleep(time.Minute)
		var pulls atomic.Int64
		open := func(name string) *Model {
			return mustOpen(t, r, name, funcSource(func(s *Snapshot) { pulls.Add(1) }), Chat)
		}
		a := open("a")
		b := open("b")
		a.Finish(finished(Chat, Live, 1))
		pulls.Store(0)
		time.Sleep(9*time.Second + time.Second/2)
		synctest.Wait()
		if got := log.seen(); !slices.Equal(got, []time.Duration{64 * time.Second, 68 * time.Second}) {
			t.Errorf("logged at %v", got)
		}
		if n := pulls.Load(); n < 18 || n > 26 { // two models, a tick a second and two logs
			t.Errorf("%d readings in ten seconds of two models", n)
		}
		if s := a.rollup.requests[0]; s == nil || s.rings[0].n != 1 {
			t.Error("the ticks rolled nothing up")
		}
		if n := runtime.NumGoroutine(); n != before+2 {
			t.Errorf("%d goroutines, %d before models were open", n, before)
		}
		a.Close()
		time.Sleep(time.Second)
		if n := runtime.NumGoroutine(); n != before+2 {
			t.Errorf("%d goroutines with a model left", n)
		}
		b.Close()
		synctest.Wait()
		if n := runtime.NumGoroutine(); n != before {
			t.Errorf("%d goroutines after the last Close, %d before", n, before)
		}
		log.mu.Lock()
		log.times = nil
		log.mu.Unlock()
		pulls.Store(0)
		time.Sleep(time.Minute)
		if n := pulls.Load(); n != 0 || len(log.seen()) != 0 {
			t.Errorf("%d readings, %d logs without a model", n, len(log.seen()))
		}
		c := open("c") // and again
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(log.seen()) == 0 {
			t.Error("a model opened later isn't logged")
		}
		c.Close()
	})
}

// A logger may block, panic, or close the last model: the rollups go on, and a second one is never called while one is at it.
func TestTickerSurvivesStatLoggers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		var inside, most atomic.Int64
		log := &logTimes{start: time.Now(), then: func() {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			<-block
			panic("logger")
		}}
		r := bubble(RecorderOptions{StatLoggers: []StatLogger{log}})
		m := mustOpen(t, r, "m", &fixedSource{}, Chat)
		time.Sleep(11 * time.Second)
		m.Finish(finished(Chat, Live, 1))
		time.Sleep(20 * time.Second)
		if s := m.rollup.requests[0]; s == nil || s.rings[0].n != 1 {
			t.Error("a logger that blocks held up the rollups")
		}
		m.Close() // doesn't wait for it
		m = mustOpen(t, r, "m", &fixedSource{}, Chat)
		time.Sleep(25 * time.Second)
		if n := most.Load(); n != 1 {
			t.Errorf("%d goroutines in the logger at once", n)
		}
		close(block)
		time.Sleep(11 * time.Second)
		if n := len(log.seen()); n < 2 || r.Faults() != uint64(n) {
			t.Errorf("%d logs, %d faults", n, r.Faults())
		}
		log.mu.Lock()
		log.then = func() { m.Close() }
		log.mu.Unlock()
		time.Sleep(11 * time.Second)
	})
}

// With the real clock: models come and go under ticks and scrapes, nothing deadlocks, nothing stays.
func TestTickerLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := NewRecorder(RecorderOptions{LogInterval: time.Millisecond, StatLoggers: []StatLogger{&logTimes{}}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for range 50 {
				m := mustOpen(t, r, strings.Repeat("m", i+1), &fixedSource{}, Chat)
				m.Finish(finished(Chat, Live, 2))
				r.tick(r.now())
				if _, err := r.Rollups(time.Time{}, time.Time{}, 0); err != nil {
					t.Error(err)
				}
				if _, err := r.Stats(); err != nil {
					t.Error(err)
				}
				m.Close()
			}
		})
	}
	wg.Wait()
	got := mustRollups(t, r, time.Time{}, time.Time{}, 0)
	for _, s := range got.Series {
		if s.Total.Requests != 50 {
			t.Errorf("%s: %d requests, want 50", s.Model, s.Total.Requests)
		}
	}
	if r.Faults() != 0 || len(got.Series) != 3 {
		t.Errorf("%d faults, %d series", r.Faults(), len(got.Series))
	}
}

func BenchmarkTick(b *testing.B) {
	clock := newTestClock()
	r := clock.recorder(b, RecorderOptions{})
	m := mustOpen(b, r, "m", busySnapshot(), Chat, TextCompletion)
	b.ReportAllocs()
	for b.Loop() {
		m.Finish(finished(Chat, Live, 3))
		clock.pass(time.Second)
		r.tick(clock.Now())
	}
}
