package chat

import (
	"time"
)

// run is the state of one Render. One goroutine owns it.
type run struct {
	steps  int64 // left
	mem    int64 // bytes of values left
	lim    Limits
	out    []byte // the text; a capture is its tail from some offset on
	frame  *frame
	depth  int // calls active
	height int // AST levels active, over all calls

	// The first value that is no string in the text, and where it would stand.
	unjoined   error
	unjoinedAt int

	names []Value // values of the names that the context gives, nil where it gives none
	lib   *library
	now   time.Time
}

// frame holds the variables of one running function: the template itself, a
// macro, the body of a recursive loop. A nil slot is a variable with no value.
type frame struct {
	slots  []Value
	parent *frame // the function this one was written in
}

func (r *run) step() error {
	r.steps--
	if r.steps < 0 {
		return r.outOfSteps()
	}
	return nil
}

func (r *run) outOfSteps() error { return &LimitError{"steps", r.lim.Steps} }

// charge takes n steps at once, for builtins that walk n things.
func (r *run) charge(n int) error {
	r.steps -= int64(n)
	if r.steps < 0 {
		return r.outOfSteps()
	}
	return nil
}

// scan pays for reading n bytes.
func (r *run) scan(n int) error { return r.charge(n / bytesPerStep) }

// walk pays for the way to code point i of s: no more than four bytes for each before it.
func (r *run) walk(s string, i int64) error {
	n := len(s)
	if far := max(i, -i); far >= 0 && far < int64(n)/4 {
		n = int(far) * 4
	}
	return r.scan(n)
}

// sameText is a == b, paid for.
func (r *run) sameText(a, b string) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	if err := r.scan(len(a)); err != nil {
		return false, err
	}
	return a == b, nil
}

// scanText pays for looking at every character of s.
func (r *run) scanText(s string) error {
	if err := r.scan(len(s)); err != nil {
		return err
	}
	if isASCII(s) {
		return r.charge(len(s) / 4)
	}
	return r.charge(len(s))
}

// chargeInt pays for arithmetic on integers beyond 64 bits, and for turning
// them into text: it grows with the square of their size.
func (r *run) chargeInt(v ...Value) error {
	for _, x := range v {
		if b, ok := x.(bigint); ok {
			words := len(b.n.Bits())
			if err := r.charge(words * words / 16); err != nil {
				return err
			}
		}
	}
	return nil
}

// built pays for a value of n bytes, before it is made.
func (r *run) built(n int) error {
	r.mem -= int64(n)
	if r.mem < 0 {
		return &LimitError{"bytes of values", r.lim.ValueBytes}
	}
	return r.charge(n / bytesPerStep)
}

// builtSlowly is built for a text that is made byte by byte.
func (r *run) builtSlowly(n int) error {
	if err := r.charge(n / 4); err != nil {
		return err
	}
	return r.built(n)
}

// builtItems pays for a list of n items, before it is made.
func (r *run) builtItems(n int) error {
	if err := r.charge(n / 8); err != nil {
		return err
	}
	return r.built(n * valueSize)
}

// builtN pays for n pieces of size bytes; neither need be sane.
func (r *run) builtN(size, n int64) error {
	if size > 0 && n > r.lim.ValueBytes/size {
		return &LimitError{"bytes of values", r.lim.ValueBytes}
	}
	return r.built(int(size * n))
}

func (r *run) write(s string) error {
	if len(s) > r.lim.OutputBytes-len(r.out) {
		return &LimitError{"bytes of output", int64(r.lim.OutputBytes)}
	}
	if err := r.scan(len(s)); err != nil {
		return err
	}
	r.out = append(doubled(r.out, len(s)), s...)
	return nil
}

// writeValue prints v.
func (r *run) writeValue(v Value) error {
	if s, ok := strOf(v); ok {
		return r.write(s)
	}
	s, err := r.str(v)
	if err != nil {
		return err
	}
	return r.write(s)
}

// writeText prints what a filter or call block made: Jinja turns only the values of
// print statements into text, and fails on others.
func (r *run) writeText(v Value) error {
	s, ok := strOf(v)
	if !ok && r.unjoined == nil {
		r.unjoined = failf("sequence item: expected str instance, %s found", v.pyType())
		r.unjoinedAt = len(r.out)
	}
	return r.write(s)
}

// joined is the fault of something that is no string in the text from start on: Jinja
// finds out when it joins the pieces.
func (r *run) joined(start int) error {
	if r.unjoined == nil || r.unjoinedAt < start {
		return nil
	}
	return r.unjoined
}

// drop takes back what was written since start.
func (r *run) drop(start int) {
	r.out = r.out[:start]
	if r.joined(start) != nil {
		r.unjoined = nil
	}
}

// capture cuts off what was written since start and returns it as a value.
func (r *run) capture(start int) (Value, error) {
	if err := r.joined(start); err != nil {
		return nil, err
	}
	if err := r.built(len(r.out) - start); err != nil {
		return nil, err
	}
	s := string(r.out[start:])
	r.out = r.out[:start]
	return text(s), nil
}

// enter begins a call whose body is height AST levels high; leave ends it.
func (r *run) enter(height int) error {
	if r.depth >= r.lim.Depth {
		return &LimitError{"calls inside calls", int64(r.lim.Depth)}
	}
	if r.height+height > maxStackHeight {
		return &LimitError{"levels of nesting over all calls", maxStackHeight}
	}
	r.depth++
	r.height += height
	return r.step()
}

func (r *run) leave(height int) {
	r.depth--
	r.height -= height
}
