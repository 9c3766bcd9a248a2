package sched

import "time"

const (
	paceSteps = 8  // steps to see before their times are believed: the first ones find caches and clocks cold
	paceChunk = 32 // prompt rows in each of them
)

// pace finds how many prompt rows a step can take without lasting longer than the target. The time of a step grows with
// its prompt rows, on top of what its decode rows cost; scaling the rows by target/took therefore errs on the short side
// while there is room and comes closer with each step. Growth is limited to doubling, because attention over a long
// context costs more than the last step shows.
type pace struct {
	chunk, least, most int
	target             time.Duration
	seen               int
}

func newPace(l Limits) pace {
	p := pace{least: l.MinChunk, most: l.MaxChunk, target: l.MaxStepTime}
	if p.chunk = p.most; p.target >= 0 {
		p.chunk = max(p.least, min(paceChunk, p.most))
	}
	return p
}

// observe learns from one step that had so many prompt rows.
func (p *pace) observe(promptRows int, took time.Duration) {
	if p.seen++; p.target < 0 || p.seen < paceSteps || promptRows == 0 {
		return
	}
	fits := p.most
	if took > 0 {
		fits = int(min(int64(p.most), int64(float64(promptRows)*float64(p.target)/float64(took))))
	}
	switch {
	case took > p.target:
		p.chunk = max(p.least, min(p.chunk, fits))
	case promptRows >= p.chunk: // fewer rows would say nothing about more
		p.chunk = max(p.chunk, min(2*p.chunk, fits))
	}
}
