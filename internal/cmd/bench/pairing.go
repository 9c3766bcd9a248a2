package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// contender is a side as the pairing sees it: something that is run once at a time.
type contender struct {
	name string
	run  func(context.Context) (outcome, error)
}

// pairing runs two sides in turn, so that whatever else the machine does meets both.
// The other side may have several settings, of which the best counts.
//
//	peaks │ ours │ theirs, each setting │ peaks │ theirs │ ours │ peaks │ …
//	      └──────── one pair ───────────┘       └── the next ───┘
type pairing struct {
	ours   contender
	theirs []contender
	pairs  int
	peaks  func(context.Context) (peaks, error)
	steady float64       // by which share peaks may differ around a pair that counts
	limit  time.Duration // no pair is begun that would end after it; 0: none. One is always run
}

// pair is what one turn gave; of a setting that is out of the running there is nothing.
type pair struct {
	ours   outcome
	theirs []*outcome
	peaks  peaks // the mean of those before and after
}

// paired is what all turns gave.
type paired struct {
	settings []string
	kept     []pair
	dropped  int // pairs around which the machine's peaks differed
	short    int // pairs for which there was no time
}

// behind is the share of the best setting's figure below which another is not run
// again.
const behind = 0.85

// run makes pairs until enough of them count, or as many again were dropped.
func (p *pairing) run(ctx context.Context) (paired, error) {
	var out paired
	running := make([]bool, len(p.theirs))
	for i, c := range p.theirs {
		out.settings, running[i] = append(out.settings, c.name), true
	}
	begin := time.Now()
	before, err := p.peaks(ctx)
	if err != nil {
		return out, err
	}
	for turn := 0; len(out.kept) < p.pairs && turn < 2*p.pairs; turn++ {
		if each := time.Since(begin) / time.Duration(max(turn, 1)); p.limit > 0 && turn > 0 && time.Since(begin)+each > p.limit {
			out.short = p.pairs - len(out.kept)
			break
		}
		made, err := p.turn(ctx, turn%2 == 1, running)
		if err != nil {
			return out, err
		}
		after, err := p.peaks(ctx)
		if err != nil {
			return out, err
		}
		if before.differ(after) > p.steady {
			out.dropped++
		} else {
			made.peaks = before.mean(after)
			out.kept = append(out.kept, made)
			dropSlow(made, running)
		}
		before = after
	}
	return out, nil
}

// turn runs each side once, theirs first where turned.
func (p *pairing) turn(ctx context.Context, turned bool, running []bool) (pair, error) {
	made := pair{theirs: make([]*outcome, len(p.theirs))}
	n := len(p.theirs) + 1
	for i := range n {
		at := i
		if turned {
			at = n - 1 - i
		}
		if at == 0 {
			o, err := runOne(ctx, p.ours)
			if err != nil {
				return made, err
			}
			made.ours = o
		} else if running[at-1] {
			o, err := runOne(ctx, p.theirs[at-1])
			if err != nil {
				return made, err
			}
			made.theirs[at-1] = &o
		}
	}
	return made, nil
}

func runOne(ctx context.Context, c contender) (outcome, error) {
	o, err := c.run(ctx)
	if err == nil && len(o.figures) == 0 {
		err = errors.New("gave no figure")
	}
	if err != nil {
		return o, fmt.Errorf("%s: %w", c.name, err)
	}
	return o, nil
}

// dropSlow takes those settings out of the running that are far behind the best.
func dropSlow(p pair, running []bool) {
	for i, o := range p.theirs {
		for _, other := range p.theirs {
			if o != nil && other != nil && o.figures[0].unit.ratio(o.figures[0].value, other.figures[0].value) < behind {
				running[i] = false
			}
		}
	}
}

// best is the setting whose first figure has the best median, of those that were run in
// every pair that counts; −1 where there is none.
func (p *paired) best() int {
	best, most := -1, spread{}
	for i := range p.settings {
		var values []float64
		for _, made := range p.kept {
			if made.theirs[i] != nil {
				values = append(values, made.theirs[i].figures[0].value)
			}
		}
		if len(values) < len(p.kept) || len(values) == 0 {
			continue
		}
		s := spreadOf(values)
		if best < 0 || p.kept[0].ours.figures[0].unit.ratio(s.Median, most.Median) > 1 {
			best, most = i, s
		}
	}
	return best
}
