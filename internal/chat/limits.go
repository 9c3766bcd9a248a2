package chat

// Limits bound one Render. A zero field takes its default.
//
// They bound its memory with it. All that a Render allocates from beginning to end,
// most of it garbage before long, is at most 64 bytes for each of Steps, 8 for each of
// ValueBytes and of OutputBytes, and 64 for each byte of the source (slots of variables).
// An operation pays its steps and bytes before it does its work, and whether or not it
// then fails, so that no limit is passed by more than the least a statement takes.
type Limits struct {
	// Steps counts statements, operations and items walked; work on long
	// strings and large integers costs steps by size, so that a step stands for
	// some tens of nanoseconds. Default 10 million, well under a second: most
	// templates need a hundred a message, but some look back over all messages for
	// each, and 2,000 messages are then 9 million.
	Steps int64
	// Depth bounds calls inside calls: macros, call blocks, recursive loops.
	// Default 200.
	Depth int
	// OutputBytes bounds the text at any moment, captures included.
	// Default 16 MiB.
	OutputBytes int
	// ValueBytes bounds the sum of all strings and lists that were made on the
	// way, whether or not they are still reachable: the only figure that can be
	// known without a collector of our own. Default 64 MiB.
	ValueBytes int64
}

const (
	// MaxSourceBytes bounds a template's source.
	MaxSourceBytes = 1 << 20
	// maxParseDepth bounds expressions in expressions and blocks in blocks,
	// long postfix and operator chains included, and with it the machine stack
	// that compiling and rendering take. Python gives up near 200 levels.
	maxParseDepth = 400
	// maxStackHeight bounds the AST levels that are active at once over all
	// calls: Depth alone would allow Depth × maxParseDepth of them.
	maxStackHeight = 8000
	// maxDataDepth bounds the nesting of a value that is printed, compared or
	// turned into JSON: a template can nest lists one by one.
	maxDataDepth = 400
	// maxRange is the sandbox's own bound on range().
	maxRange = 100000
	// maxIntBits bounds integers, so that ** and * stay cheap; maxIntDigits is
	// Python's bound on turning them into text and back.
	maxIntBits   = 1 << 14
	maxIntDigits = 4300
	// maxTupleKey bounds what a tuple is hashed to.
	maxTupleKey = 1 << 16
	// maxQuoted bounds what an error says of a string.
	maxQuoted = 256
	// bytesPerStep is how much plain string work one step stands for.
	bytesPerStep = 16
	// valueSize is what a slot of a list costs towards ValueBytes.
	valueSize = 16
)

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 10_000_000
	}
	if l.Depth == 0 {
		l.Depth = 200
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = 16 << 20
	}
	if l.ValueBytes == 0 {
		l.ValueBytes = 64 << 20
	}
	return l
}
