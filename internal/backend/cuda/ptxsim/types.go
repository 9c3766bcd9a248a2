package ptxsim

// typ is a PTX type.
type typ struct {
	kind byte // u s f b p (predicate) h (packed halves) g (bfloat16) j (packed bfloat16)
	bits int
}

var types = map[string]typ{
	"u8": {'u', 8}, "u16": {'u', 16}, "u32": {'u', 32}, "u64": {'u', 64},
	"s8": {'s', 8}, "s16": {'s', 16}, "s32": {'s', 32}, "s64": {'s', 64},
	"b8": {'b', 8}, "b16": {'b', 16}, "b32": {'b', 32}, "b64": {'b', 64},
	"f16": {'f', 16}, "f32": {'f', 32}, "f64": {'f', 64},
	"f16x2": {'h', 32}, "bf16": {'g', 16}, "bf16x2": {'j', 32},
	"pred": {'p', 1},
}

func (t typ) mask() uint64 { return ^uint64(0) >> (64 - t.bits) }

// space is where an address points.
type space uint8

const (
	generic space = iota
	globalSpace
	sharedSpace
	localSpace
	constSpace
	paramSpace
)

var spaces = map[string]space{
	"global": globalSpace, "shared": sharedSpace, "local": localSpace, "const": constSpace, "param": paramSpace,
}

var spaceNames = [...]string{generic: "generic", globalSpace: "global", sharedSpace: "shared", localSpace: "local", constSpace: "const", paramSpace: "param"}

func (s space) String() string { return spaceNames[s] }

// Generic addresses: each space but global memory has a window of its own, far
// from every allocation.
const (
	sharedWindow = 0x0100_0000_0000_0000
	localWindow  = 0x0200_0000_0000_0000
	constWindow  = 0x0300_0000_0000_0000
	windowSize   = 0x0100_0000_0000_0000
	globalBase   = 0x0000_7000_0000_0000 // the first allocation
)

// window is where the space begins among generic addresses.
func (s space) window() uint64 {
	switch s {
	case sharedSpace:
		return sharedWindow
	case localSpace:
		return localWindow
	case constSpace:
		return constWindow
	}
	return 0
}

// row is one register of the 32 lanes of a warp. A value narrower than 64 bits
// lies in the low bits, zeros above.
type row [32]uint64

// alu computes all lanes of d from those of a, b and c. It touches nothing else and
// never fails, so that lanes that are switched off may be computed and thrown away.
type alu func(d, a, b, c *row)

// instr is one instruction, ready to run.
type instr struct {
	alu     alu                                // set for what is only arithmetic
	cmp     func(a, b *row) uint32             // set for setp without a second condition
	run     func(w *warp, in *instr, m uint32) // set for what is neither
	flow    flow
	negated bool  // the guard is @!p
	guard   int32 // predicate, -1: none
	d       int32
	a, b, c int32
	line    int32
	target  int32
	off     uint64 // added to an address
	x       *extra
	name    string // opcode as written
}

// flow is what an instruction does with the order of instructions.
type flow uint8

const (
	straight flow = iota
	branch
	indexed // brx.idx
	leave
	warpSync  // waits for the lanes of a mask
	blockSync // waits for the warps of a block
)

// extra holds what few instructions have.
type extra struct {
	dst, src []int32 // further rows, of vectors and fragments
	size     int     // bytes of an access's element
	signed   bool    // sign-extend what is loaded
	constant bool    // ld.global.nc
	count    int     // elements of a vector access
	wide     uint64  // mask of an address
	off2     uint64  // added to the second address
	keep     uint64  // mask of a sign-extended value
	space    space
	targets  []int32
	memory   memFlags
	pred     int32 // a second predicate, -1: none
	negPred  bool
	op       func(old, b, c uint64) uint64
	mask     int32 // row of the lanes' mask, -1: the whole warp
	mode     string
	reduce   string // of bar.red
}

type memFlags uint8

const (
	atomicAccess memFlags = 1 << iota
)
