package dl

// MaxArgs is the most arguments that a Caller passes.
const MaxArgs = 12

// Caller calls C functions by their address without allocating: it keeps the
// arguments' place between calls, which would otherwise go to the heap each time, as
// would the slice of a function with any number of arguments. Its zero value is ready. It belongs to one goroutine at a time; where the
// library keeps state by thread, that goroutine is locked to its thread.
type Caller struct {
	args [MaxArgs]uintptr
}
