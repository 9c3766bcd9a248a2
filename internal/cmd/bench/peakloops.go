package main

import (
	"sync"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
)

// peakLoops are the loops whose speed is the machine's at one time.
type peakLoops struct {
	kern  *kern.Kernels
	parts [][]byte // what each worker reads
}

// What is read is at least what no near cache holds, and at most what every machine
// has to spare.
const (
	leastRead = 16 << 20
	mostRead  = 1 << 30
)

// peakTries of each loop: the best counts, since a short burst of a neighbour's is no
// change of the machine.
const peakTries = 3

func newPeakLoops(workers int, bytes int64) *peakLoops {
	l := &peakLoops{kern: kern.New(kern.Best()), parts: make([][]byte, workers)}
	each := int(min(max(bytes, leastRead), mostRead)) / workers
	for i := range l.parts {
		l.parts[i] = make([]byte, each)
		for j := 0; j < each; j += 4 << 10 {
			l.parts[i][j] = 1 // what was never written is one page of zeros, in the nearest cache
		}
	}
	return l
}

// run measures each loop.
func (l *peakLoops) run() peaks {
	var p peaks
	for range peakTries {
		p.Read = max(p.Read, l.rate(func(w int) int64 { l.kern.ReadPeak(l.parts[w]); return int64(len(l.parts[w])) })/1e9)
		p.FMA = max(p.FMA, l.rate(func(int) int64 { return l.kern.FMAPeak(1 << 14) })/1e9)
		p.Tile = max(p.Tile, l.rate(func(int) int64 { return kern.TilePeak(1000) })/1e12)
	}
	return p
}

// rate runs work on each worker again and again for a while, and adds up what it says
// it did in a second: nothing the first time means never.
func (l *peakLoops) rate(work func(worker int) int64) float64 {
	const least = 20 * time.Millisecond
	var all sync.WaitGroup
	rates := make([]float64, len(l.parts))
	for w := range l.parts {
		all.Go(func() {
			start, done := time.Now(), int64(0)
			for {
				n := work(w)
				done += n
				if took := time.Since(start); n == 0 || took >= least {
					rates[w] = float64(done) / took.Seconds()
					return
				}
			}
		})
	}
	all.Wait()
	return mean(rates) * float64(len(rates))
}
