package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// scriptedSide gives the rates of a list, and notes in a log that it ran.
func scriptedSide(name string, log *[]string, rates ...float64) contender {
	n := 0
	return contender{name, func(context.Context) (outcome, error) {
		*log = append(*log, name)
		r := rates[n%len(rates)]
		n++
		return outcome{figures: []figure{{"tg128", tokensPerSecond, r}, {"peak memory", megabytes, 1000 / r}}, row: row{Bytes: 1e9, Threads: 2}}, nil
	}}
}

// scriptedPeaks gives a list of reads, the last of them forever.
func scriptedPeaks(log *[]string, reads ...float64) func(context.Context) (peaks, error) {
	n := -1
	return func(context.Context) (peaks, error) {
		if log != nil {
			*log = append(*log, "|")
		}
		n++
		return peaks{Read: reads[min(n, len(reads)-1)], FMA: 1}, nil
	}
}

// TestPairing holds the order of runs, with peaks before and after each pair.
func TestPairing(t *testing.T) {
	var log []string
	p := pairing{ours: scriptedSide("ours", &log, 30, 32, 28), theirs: []contender{scriptedSide("theirs", &log, 10, 16, 7)}, pairs: 3, peaks: scriptedPeaks(&log, 100), steady: 0.1}
	made, err := p.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, " "), "| ours theirs | theirs ours | ours theirs |"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	list := made.comparisons(1)
	if len(list) != 2 {
		t.Fatalf("%d figures, want 2", len(list))
	}
	rate, memory := list[0], list[1]
	// 30 ÷ 10, 32 ÷ 16, 28 ÷ 7: each pair within itself.
	if rate.Ratio != (spread{3, 2, 4}) || rate.Ours != (spread{30, 28, 32}) || rate.Theirs != (spread{10, 7, 16}) || rate.Pairs != 3 || rate.Dropped != 0 {
		t.Errorf("%+v", rate)
	}
	if memory.Test != "peak memory" || memory.Ratio.Median < 2.99 || memory.Ratio.Median > 3.01 || memory.Share != 0 {
		t.Errorf("%+v", memory)
	}
	// 30 steps of 1 GB of 100 GB/s.
	if rate.Share != 0.3 || rate.TheirsShare != 0.1 || rate.Bytes != 1e9 {
		t.Errorf("shares %v and %v, want 0.3 and 0.1", rate.Share, rate.TheirsShare)
	}
	if four := made.comparisons(4)[0]; four.Share != 0.3/4 {
		t.Errorf("with four tokens a step the share is %v, want %v", four.Share, 0.3/4)
	}
}

// TestPairingDrops asks that pairs around which peaks differ are made again, up to
// as many again, and counted.
func TestPairingDrops(t *testing.T) {
	var log []string
	ours, theirs := scriptedSide("ours", &log, 1, 2, 3, 4, 5), scriptedSide("theirs", &log, 1)
	// Between the first two: 100 to 89, and back.
	p := pairing{ours: ours, theirs: []contender{theirs}, pairs: 2, peaks: scriptedPeaks(nil, 100, 89, 100, 95), steady: 0.1}
	made, err := p.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c := made.comparisons(0)[0]; c.Pairs != 2 || c.Dropped != 2 || c.Ours != (spread{3.5, 3, 4}) || c.Peaks.Read != (97.5+95)/2 {
		t.Errorf("%+v", c)
	}
	n := 0
	unsteady := func(context.Context) (peaks, error) { n++; return peaks{Read: float64(1 + n%2)}, nil }
	p.peaks = unsteady
	if made, err = p.run(context.Background()); err != nil || len(made.kept) != 0 || made.dropped != 4 || made.comparisons(0) != nil {
		t.Errorf("%+v, %v: want all of 4 dropped", made, err)
	}
}

// TestPairingBest asks that the better of a peer's settings counts, and that one far
// behind is not run again.
func TestPairingBest(t *testing.T) {
	var log []string
	p := pairing{ours: scriptedSide("ours", &log, 40), theirs: []contender{scriptedSide("off", &log, 10, 9), scriptedSide("on", &log, 9.5, 20), scriptedSide("auto", &log, 5)},
		pairs: 2, peaks: scriptedPeaks(nil, 100), steady: 0.1}
	made, err := p.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ours", "off", "on", "auto", "on", "off", "ours"}; !slices.Equal(log, want) {
		t.Errorf("ran %v, want %v", log, want)
	}
	if c := made.comparisons(0)[0]; c.Setting != "on" || c.Theirs.Median != 14.75 {
		t.Errorf("%+v", c)
	}
}

func TestPairingFaults(t *testing.T) {
	var log []string
	fault := errors.New("it fell over")
	bad := contender{"theirs", func(context.Context) (outcome, error) { return outcome{}, fault }}
	p := pairing{ours: scriptedSide("ours", &log, 1), theirs: []contender{bad}, pairs: 2, peaks: scriptedPeaks(nil, 1), steady: 0.1}
	if _, err := p.run(context.Background()); !errors.Is(err, fault) || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("%v", err)
	}
	p.theirs[0].run = func(context.Context) (outcome, error) { return outcome{}, nil }
	if _, err := p.run(context.Background()); err == nil {
		t.Error("an outcome without a figure was taken")
	}
	p.theirs[0], p.limit = scriptedSide("theirs", &log, 1), time.Nanosecond
	if made, err := p.run(context.Background()); err != nil || len(made.kept) != 1 || made.short != 1 {
		t.Errorf("%+v, %v: want one pair, and one without time", made, err)
	}
}
