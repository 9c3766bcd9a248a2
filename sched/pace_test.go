package sched

import (
	"testing"
	"time"
)

// A machine whose steps last 2 ms and 0.5 ms for each prompt row: the chunk comes to what fits 20 ms, by doubling at
// most, and stays; when the machine gets slower it follows.
func TestPaceFollowsTheClock(t *testing.T) {
	p := newPace(Limits{MaxStepTime: 20 * time.Millisecond}.WithDefaults())
	cost := func(perRow time.Duration) time.Duration { return 2*time.Millisecond + time.Duration(p.chunk)*perRow }
	for i := range paceSteps - 1 {
		if p.chunk != paceChunk {
			t.Fatalf("step %d has a chunk of %d", i, p.chunk)
		}
		p.observe(p.chunk, cost(time.Microsecond))
	}
	last := p.chunk
	for range 20 {
		p.observe(p.chunk, cost(500*time.Microsecond))
		if p.chunk > 2*last {
			t.Fatalf("the chunk grew from %d to %d", last, p.chunk)
		}
		last = p.chunk
	}
	if p.chunk < 34 || p.chunk > 36 {
		t.Errorf("36 rows fit the target, the chunk is %d", p.chunk)
	}
	for range 20 {
		p.observe(p.chunk, cost(900*time.Microsecond))
	}
	if p.chunk < 19 || p.chunk > 20 {
		t.Errorf("20 rows fit the target now, the chunk is %d", p.chunk)
	}
	for range 20 {
		p.observe(p.chunk, time.Second)
	}
	if p.chunk != DefaultMinChunk {
		t.Errorf("however slow, a chunk is %d rows, not %d", DefaultMinChunk, p.chunk)
	}
}

func TestPaceBounds(t *testing.T) {
	for name, c := range map[string]struct {
		l     Limits
		first int
		then  int // after many steps that take no time
	}{
		"defaults":         {Limits{}, 32, 512},
		"small MaxChunk":   {Limits{MaxChunk: 4}, 4, 4},
		"small MaxTokens":  {Limits{MaxTokens: 20}, 20, 20},
		"no target":        {Limits{MaxStepTime: -1}, 512, 512},
		"MaxChunk":         {Limits{MaxChunk: 100}, 32, 100},
		"MinChunk is more": {Limits{MinChunk: 64, MaxChunk: 128}, 64, 128},
	} {
		p := newPace(c.l.WithDefaults())
		if p.chunk != c.first {
			t.Errorf("%s: begins with %d, want %d", name, p.chunk, c.first)
		}
		for range 20 {
			p.observe(p.chunk, 0)
		}
		if p.chunk != c.then {
			t.Errorf("%s: comes to %d, want %d", name, p.chunk, c.then)
		}
	}
}

// Steps that were not full of prompt rows say nothing about more rows, whatever they took.
func TestPaceLearnsOnlyFromFullSteps(t *testing.T) {
	p := newPace(Limits{}.WithDefaults())
	for range 20 {
		p.observe(0, time.Microsecond)
		p.observe(paceChunk-1, time.Microsecond)
	}
	if p.chunk != paceChunk {
		t.Errorf("the chunk is %d", p.chunk)
	}
}
