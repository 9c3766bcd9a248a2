package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// measurePeer runs every task of the flags on both sides, in pairs.
func measurePeer(ctx context.Context, c *config, report func(any) error, out io.Writer) error {
	ours, err := c.ours()
	if err != nil {
		return err
	}
	theirs, err := c.peers()
	if err != nil {
		return err
	}
	if !c.json {
		fmt.Fprintln(out, compareHead)
	}
	var failed []error
	for _, t := range c.tasks() {
		list, err := compareTask(ctx, c, t, ours, theirs, 0)
		if errors.Is(err, errNoPair) {
			failed = append(failed, err)
			continue
		}
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := report(one); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// compareTask runs one task on both sides. limit is for all of it; 0: none.
func compareTask(ctx context.Context, c *config, t task, ours side, theirs []side, limit time.Duration) (_ []comparison, err error) {
	file, err := os.Stat(c.model)
	if err != nil {
		return nil, err
	}
	meter, err := startPeaks(c.workers(), max(1, file.Size())) // the plain read is of as much memory
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meter.close()) }()
	p := pairing{ours: ours.contender(t), pairs: c.pairs, peaks: meter.measure, steady: c.steady, limit: limit}
	for _, s := range theirs {
		p.theirs = append(p.theirs, s.contender(t))
	}
	made, err := p.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	if len(made.kept) == 0 {
		return nil, fmt.Errorf("%s: %d dropped: %w", t, made.dropped, errNoPair)
	}
	steps := 0
	if t.kind == generating {
		steps = t.batch
	}
	return made.comparisons(steps), nil
}

// contender is a side with the task that it is to run.
func (s side) contender(t task) contender {
	return contender{s.name, func(ctx context.Context) (outcome, error) {
		ctx, cancel := context.WithTimeout(ctx, childLimit)
		defer cancel()
		return s.run(ctx, t)
	}}
}
