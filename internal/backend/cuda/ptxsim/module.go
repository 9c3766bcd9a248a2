package ptxsim

import "slices"

// Param is one parameter of a kernel, at its place in the launch's parameter bytes.
type Param struct {
	Name                string
	Offset, Size, Align int
}

// Kernel is one entry point.
type Kernel struct {
	Name        string
	Params      []Param
	ParamBytes  int            // what Launch wants: the end of the last parameter
	SharedBytes int            // static shared memory
	SharedAlign int            // the largest alignment asked for in shared memory, dynamic included
	Dynamic     bool           // refers to dynamic shared memory
	LocalBytes  int            // stack of a thread
	Registers   map[string]int // virtual registers by type ("pred", "b32", "f32", ...)
	Live        int            // registers of 32 bits that hold something at once, at most: about what a card gives a thread
	MaxThreads  int            // .maxntid: the most threads of a block; 0: none said
	MinBlocks   int            // .minnctapersm
	Lines       [2]int         // where its body begins and ends in the text

	module *Module
	code   []instr
	rows   int        // registers of a thread
	preds  int        // predicates of a thread
	consts []constant // rows that hold one value for all lanes
	regs   []specialRow
	dynOff uint64 // where dynamic shared memory begins
}

// constant is a row of one value: an immediate, or an address known per machine.
type constant struct {
	row    int32
	value  uint64
	global *global // value is an offset from this variable's address
}

// specialRow is a row that holds a special register.
type specialRow struct {
	row int32
	reg special
}

// global is a variable of the module in global or constant memory.
type global struct {
	name  string
	space space
	align int
	size  int
	data  []byte // initial bytes, zero beyond
	at    uint64 // constant space: its address; global space is placed per machine
}

// Module is a parsed text. It never changes: safe for concurrent use.
type Module struct {
	kernels []*Kernel
	globals []*global
	consts  []byte // constant memory
	target  string
	version string
}

// Kernels are the names of the entry points in the order of the text.
func (m *Module) Kernels() []string {
	out := make([]string, 0, len(m.kernels))
	for _, k := range m.kernels {
		out = append(out, k.Name)
	}
	return out
}

// Kernel is an entry point by name, nil if there is none.
func (m *Module) Kernel(name string) *Kernel {
	i := slices.IndexFunc(m.kernels, func(k *Kernel) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return m.kernels[i]
}

// Target is what the text says of its target, for example "sm_80".
func (m *Module) Target() string { return m.target }

// Version is the text's PTX version, for example "7.0".
func (m *Module) Version() string { return m.version }

// Instructions is how many the kernel has, those of the functions that it calls not
// counted.
func (k *Kernel) Instructions() int { return len(k.code) }
