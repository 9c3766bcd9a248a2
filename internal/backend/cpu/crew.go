package cpu

import "time"

// crew decides how many helpers a step wakes. On a processor that another program
// wants too, a helper is stopped now and then while it holds an item, and the step
// waits for it: two workers, one of which runs half of the time, are slower than
// one that always runs. Where steps lose more so than a worker gives, one fewer is
// woken for a while, then tried again; each time that this fails at once the
// rest is twice as long. How many there are changes no bit of what they compute.
//
// The zero value wakes none. The caller of a step owns it.
type crew struct {
	all, woken int
	rest       time.Duration // of steps until one more is tried
	pause      time.Duration // that the next rest takes
	calm       time.Duration // of steps since the last change
	steps      int           // since the last change

	lost, took time.Duration // of the last steps, those long ago counting less
}

const (
	shortPause = 500 * time.Millisecond // of steps
	longPause  = 2 * time.Second
	fewSteps   = 2 // tell nothing
)

func newCrew(helpers int) crew { return crew{all: helpers, woken: helpers, pause: shortPause} }

// stepped takes in a step that took so long, of which workers waited so long in all
// for one that did not run.
func (c *crew) stepped(took, lost time.Duration) {
	c.took, c.lost = c.took-c.took/8+took, c.lost-c.lost/8+lost
	c.calm += took
	c.steps++
	switch {
	case c.woken > 0 && c.steps >= fewSteps && c.tooMuch():
		c.change(-1)
		c.rest = c.pause
		c.pause = min(2*c.pause, longPause)
	case c.woken < c.all:
		if c.rest -= took; c.rest <= 0 {
			c.change(1)
			c.rest = c.pause
		}
	case c.calm >= longPause:
		c.pause = shortPause
	}
}

// tooMuch tells whether more was lost than three quarters of what one of the
// workers does: a step that reads memory at its rate gains less by a worker than
// an equal share.
func (c *crew) tooMuch() bool { return c.lost*time.Duration(4*(c.woken+1)) > 3*c.took }

func (c *crew) change(by int) {
	c.woken += by
	c.lost, c.took, c.calm, c.steps = 0, 0, 0, 0
}
