package chat

// loopState is the variable "loop" of a for block, and the iterator that drives
// it: asking for loop.last or loop.nextitem looks one item ahead.
type loopState struct {
	r      *run
	src    Value // for its length; nil where items pass a condition
	it     iterator
	ahead  Value // the item looked ahead at, nil: none
	ended  bool
	before Value
	now    Value
	n      int // length, -1: not known yet
	index0 int
	depth0 int
	seen   *tuple // what loop.changed last saw
	// again renders the loop's body over other items, in a recursive loop.
	again *recursiveLoop
	outer *frame
}

func newLoop(r *run, src Value, it iterator, depth0 int) *loopState {
	return &loopState{r: r, src: src, it: it, n: -1, index0: -1, depth0: depth0}
}

func (*loopState) pyType() string { return "LoopContext" }

// next moves on to the next item.
func (l *loopState) next(r *run) (Value, bool, error) {
	v, err := l.peek()
	if err != nil || v == nil {
		return nil, false, err
	}
	l.ahead = nil
	l.index0++
	l.before, l.now = l.now, v
	return v, true, nil
}

// peek looks at the next item; nil means there is none.
func (l *loopState) peek() (Value, error) {
	if l.ahead != nil || l.ended {
		return l.ahead, nil
	}
	v, ok, err := l.it.next(l.r)
	if err != nil {
		return nil, err
	}
	if !ok {
		l.ended = true
		return nil, nil
	}
	l.ahead = v
	return v, nil
}

func (l *loopState) length() (int, error) {
	if l.n >= 0 {
		return l.n, nil
	}
	if l.src != nil {
		if n, err := l.r.length(l.src); err == nil {
			l.n = n
			return n, nil
		}
	}
	rest, err := l.r.drain(l.it)
	if err != nil {
		return 0, err
	}
	l.it = &sliceIter{items: rest}
	l.n = len(rest) + l.index0 + 1
	if l.ahead != nil {
		l.n++
	}
	return l.n, nil
}

// loopAttrs are the attributes of loop that are plain values.
var loopAttrs = map[string]func(l *loopState) (Value, error){
	"index0": func(l *loopState) (Value, error) { return integer(l.index0), nil },
	"index":  func(l *loopState) (Value, error) { return integer(l.index0 + 1), nil },
	"first":  func(l *loopState) (Value, error) { return boolean(l.index0 == 0), nil },
	"depth0": func(l *loopState) (Value, error) { return integer(l.depth0), nil },
	"depth":  func(l *loopState) (Value, error) { return integer(l.depth0 + 1), nil },
	"length": func(l *loopState) (Value, error) {
		n, err := l.length()
		return integer(n), err
	},
	"revindex0": func(l *loopState) (Value, error) {
		n, err := l.length()
		return integer(n - l.index0 - 1), err
	},
	"revindex": func(l *loopState) (Value, error) {
		n, err := l.length()
		return integer(n - l.index0), err
	},
	"last": func(l *loopState) (Value, error) {
		v, err := l.peek()
		return boolean(v == nil), err
	},
	"previtem": func(l *loopState) (Value, error) {
		if l.index0 == 0 {
			return &undefined{hint: "there is no previous item"}, nil
		}
		return l.before, nil
	},
	"nextitem": func(l *loopState) (Value, error) {
		v, err := l.peek()
		if v == nil {
			v = &undefined{hint: "there is no next item"}
		}
		return v, err
	},
}

var loopMethods = map[string]*builtin{
	"cycle": {name: "cycle", rest: true, fn: func(r *run, self Value, a args) (Value, error) {
		if len(a.rest) == 0 {
			return nil, failf("no items for cycling given")
		}
		return a.rest[self.(*loopState).index0%len(a.rest)], nil
	}},
	"changed": {name: "changed", rest: true, fn: func(r *run, self Value, a args) (Value, error) {
		l := self.(*loopState)
		now := &tuple{items: a.rest}
		if l.seen != nil {
			eq, err := r.equal(l.seen, now)
			if err != nil {
				return nil, err
			}
			if eq {
				return boolean(false), nil
			}
		}
		l.seen = now
		return boolean(true), nil
	}},
}
