package ptxsim

import "fmt"

// ParseError is what Parse refuses.
type ParseError struct {
	Line int    // from 1
	Text string // the statement
	What string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("ptx line %d: %s: %s", e.Line, e.What, e.Text)
}

// FaultKind says what a program did that it must not.
type FaultKind uint8

const (
	OutOfBounds     FaultKind = iota + 1 // an access outside each allocation, or over the end of one
	Misaligned                           // an address that is no multiple of the access's size
	SharedRace                           // two threads of a block, one of them writing, and no barrier between
	GlobalRace                           // two blocks of a launch, one of them writing
	DivergentSync                        // lanes or warps meet at different barriers, or one never comes
	Uninitialised                        // a read of bytes that nothing has written
	Pending                              // a read or write where cp.async data is still under way
	StepLimit                            // a block ran for longer than Options.MaxSteps
	SharedBytes                          // more shared memory than there is
	BadLaunch                            // a grid, block or parameter block that a driver refuses
	Trapped                              // the program ran into trap
	BadInstruction                       // an operand's value that the instruction does not allow
	ReadOnlyWritten                      // a write into constants or parameters
)

var faultNames = [...]string{
	OutOfBounds: "out of bounds", Misaligned: "misaligned", SharedRace: "race on shared memory",
	GlobalRace: "race on global memory between blocks", DivergentSync: "divergent barrier",
	Uninitialised: "read of memory that nothing wrote", Pending: "access to cp.async data before wait and barrier",
	StepLimit: "step limit", SharedBytes: "shared memory", BadLaunch: "bad launch", Trapped: "trap",
	BadInstruction: "bad operand", ReadOnlyWritten: "write into constant memory",
}

func (k FaultKind) String() string {
	if int(k) < len(faultNames) && faultNames[k] != "" {
		return faultNames[k]
	}
	return fmt.Sprintf("fault %d", uint8(k))
}

// Fault is what ends a launch.
type Fault struct {
	Kind   FaultKind
	Kernel string
	Line   int       // of the instruction in the PTX text; 0 before the first
	Block  [3]uint32 // which block of the grid
	Thread [3]uint32 // which thread of the block
	Addr   uint64    // of the access, in its space
	What   string    // the instruction, and what was wrong
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("kernel %s: %v: %s", f.Kernel, f.Kind, f.What)
	}
	return fmt.Sprintf("kernel %s, line %d, block %v, thread %v: %v at %#x: %s", f.Kernel, f.Line, f.Block, f.Thread, f.Kind, f.Addr, f.What)
}
