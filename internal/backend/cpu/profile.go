package cpu

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// Profile collects where the time of steps goes. It belongs to one runner: the
// last that a device with Options.Profile made. Where there is none, phases run as
// they are, without a look at a clock; where there is one, each has a clock wrapped
// about it when the runner is made.
//
//	open ──────────────── worker 0 ▓▓▓▓▓▓ ▓▓▓▓▓ ▓▓▓▓ ──── open the next
//	     ──────────────── worker 1   ▓▓▓▓▓▓ ▓▓▓▓▓    ────
//	     └ Wall                      Busy ▓, the rest Idle     └ Late: after the last item
//
// One goroutine uses it, and only between steps.
type Profile struct {
	start   time.Time
	workers int
	phases  []phaseClock
	begun   int64   // when the step that is on began
	firsts  []woken // worker → its first item of that step
	woke    time.Duration
	on      int   // the phase that is on, −1: none
	opened  int64 // when
	items   int   // of it
}

// phaseClock is one phase's sums, in nanoseconds.
type phaseClock struct {
	name              string
	cost              func() Cost
	steps, items      int64
	wall, late, alone int64
	sum               Cost
	workers           []workerClock
}

// workerClock is what one worker writes of a phase, on a line of its own.
type workerClock struct {
	busy, last int64
	_          [lineBytes - 16]byte
}

// Cost is what a phase has to do at least: the bytes of weights, keys and values
// that it reads, and its multiply-adds of 8-bit integers and of floats.
type Cost struct{ Bytes, Ints, Floats int64 }

// ProfileRow is the sum of the phases of one name over all steps.
type ProfileRow struct {
	Name   string
	Phases int64         // opened, over all steps
	Items  int64         // taken
	Wall   time.Duration // from their opening to that of the next
	Busy   time.Duration // of all workers in items
	Alone  time.Duration // part of Wall in which one worker did a phase of one item
	Late   time.Duration // part of Wall after the last item
	Cost   Cost
}

// Rows sums the phases by name, in the order of the program.
func (p *Profile) Rows() []ProfileRow {
	var rows []ProfileRow
	for i := range p.phases {
		c := &p.phases[i]
		at := slices.IndexFunc(rows, func(r ProfileRow) bool { return r.Name == c.name })
		if at < 0 {
			at, rows = len(rows), append(rows, ProfileRow{Name: c.name})
		}
		r := &rows[at]
		r.Phases += c.steps
		r.Items += c.items
		r.Wall += time.Duration(c.wall)
		r.Late += time.Duration(c.late)
		r.Alone += time.Duration(c.alone)
		r.Cost = r.Cost.plus(c.sum)
		for _, w := range c.workers {
			r.Busy += time.Duration(w.busy)
		}
	}
	return rows
}

// woken is when a worker took its first item of a step, on a line of its own.
type woken struct {
	at int64
	_  [lineBytes - 8]byte
}

// Workers is how many take part in a step.
func (p *Profile) Workers() int { return p.workers }

// Woke is how long after the beginning of steps the last of the workers took its
// first item, all steps together.
func (p *Profile) Woke() time.Duration { return p.woke }

// Reset forgets what was collected.
func (p *Profile) Reset() {
	p.woke = 0
	for i := range p.phases {
		c := &p.phases[i]
		clear(c.workers)
		c.steps, c.items, c.wall, c.late, c.alone, c.sum = 0, 0, 0, 0, 0, Cost{}
	}
}

func (c Cost) plus(d Cost) Cost { return Cost{c.Bytes + d.Bytes, c.Ints + d.Ints, c.Floats + d.Floats} }

func (p *Profile) now() int64 { return int64(time.Since(p.start)) }

// watch wraps phases for a pool of so many workers.
func (p *Profile) watch(phases []phase, workers int) []phase {
	*p = Profile{start: time.Now(), workers: workers, firsts: make([]woken, workers), phases: make([]phaseClock, len(phases)), on: -1}
	watched := make([]phase, 0, len(phases)+1)
	for i := range phases {
		in, c := phases[i], &p.phases[i]
		*c = phaseClock{name: in.name, cost: in.cost, workers: make([]workerClock, workers)}
		watched = append(watched, phase{
			items: func() int {
				p.open(i)
				n := in.items()
				p.opening(n)
				return n
			},
			grain: in.grain,
			run: func(w *worker, item int) {
				clock, begin := &c.workers[w.number], p.now()
				if first := &p.firsts[w.number]; first.at < p.begun {
					first.at = begin
				}
				in.run(w, item)
				clock.last = p.now()
				clock.busy += clock.last - begin
			},
		})
	}
	return append(watched, phase{items: func() int { p.open(-1); return 0 }})
}

// open ends the phase that is on and begins phase n; −1: the step is over.
func (p *Profile) open(n int) {
	now := p.now()
	if p.on >= 0 {
		p.phases[p.on].end(p.opened, now, p.items)
	}
	if n == 0 {
		p.begun = now
	}
	if n < 0 {
		last := p.begun
		for _, w := range p.firsts {
			if w.at < p.begun { // it took none
				w.at = now
			}
			last = max(last, w.at)
		}
		p.woke += time.Duration(last - p.begun)
	}
	p.on, p.opened, p.items = n, now, 0
}

// opening notes how many items the phase that is on has: none is no phase.
func (p *Profile) opening(items int) {
	if p.items = items; items == 0 {
		return
	}
	c := &p.phases[p.on]
	c.steps++
	c.items += int64(items)
	if c.cost != nil {
		c.sum = c.sum.plus(c.cost())
	}
}

// end adds a phase of so many items that was on from opened to now.
func (c *phaseClock) end(opened, now int64, items int) {
	c.wall += now - opened
	if items == 1 {
		c.alone += now - opened
	}
	last := opened
	for _, w := range c.workers {
		last = max(last, w.last)
	}
	if items > 0 {
		c.late += now - last
	}
}

// nameOf is what a profile calls an op: its kind, and of a product the role of
// its matrices.
func nameOf(p *prog.Program, op prog.Op) string {
	o, ok := op.(prog.Linear)
	if !ok {
		return op.Kind()
	}
	name := op.Kind()
	for i, part := range o.Parts {
		role := strings.TrimSuffix(p.Weights[part.W].Tensor, ".weight")
		if rest, ok := strings.CutPrefix(role, "blk."); ok {
			_, role, _ = strings.Cut(rest, ".")
		}
		name += []string{" ", "+"}[min(i, 1)] + role
	}
	return name
}

// cost is what the product of a matrix with so many rows takes at least.
func cost(m *kern.Matrix, rows int) Cost {
	c := Cost{Bytes: int64(m.Panels()) * int64(m.Format.PanelBytes(m.Cols))}
	ops := int64(m.Rows) * int64(m.Cols) * int64(rows)
	if kind := m.Format.Act; kind == quant.ActF32 || kind == quant.ActBF16 {
		c.Floats = ops
	} else {
		c.Ints = ops
	}
	return c
}

// attendCost is what attention of the step that is on takes at least: each
// sequence's keys and values once, and a product with both for each that a row sees.
func (r *runner) attendCost(v *visit, o prog.Attend) Cost {
	var c Cost
	layer, kv := &r.cache.layers[o.KV], r.prog.KV[o.KV]
	token := int64(layer.keyStride+layer.valueStride) / kern.GroupTokens
	for s := range r.batch.Seqs() {
		from, to := int32(math.MaxInt32), int32(0)
		for _, keys := range v.visible[r.batch.SeqStart[s]:r.batch.SeqStart[s+1]] {
			from, to = min(from, keys.From), max(to, keys.To)
			c.Floats += int64(keys.To-keys.From) * int64(o.Heads) * int64(kv.KeyDim+kv.ValueDim)
		}
		c.Bytes += int64(to-from) * token
	}
	return c
}
