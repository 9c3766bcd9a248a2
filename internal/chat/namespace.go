package chat

// namespace is the one value whose attributes a template may set.
type namespace struct{ m *Map }

func (*namespace) pyType() string { return "Namespace" }

// cycler gives its items in turn.
type cycler struct {
	items []Value
	pos   int
}

func (*cycler) pyType() string { return "Cycler" }

// joiner gives nothing at first and its separator from then on.
type joiner struct {
	sep  Value
	used bool
}

func (*joiner) pyType() string { return "Joiner" }

var cyclerMethods = map[string]*builtin{
	"next": {name: "next", fn: func(r *run, self Value, a args) (Value, error) {
		c := self.(*cycler)
		v := c.items[c.pos]
		c.pos = (c.pos + 1) % len(c.items)
		return v, nil
	}},
	"reset": {name: "reset", fn: func(r *run, self Value, a args) (Value, error) {
		self.(*cycler).pos = 0
		return None, nil
	}},
}
