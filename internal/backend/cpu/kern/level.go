package kern

import "fmt"

// Level is a set of instructions that kernels are written for.
type Level uint8

const (
	Portable   Level = iota // plain Go: the definition
	AVX2                    // with FMA and F16C
	AVX512VNNI              // AVX-512 F, BW, DQ, VL and VNNI
	AMX                     // AVX512VNNI with tiles, for many rows
	NEON                    // the vectors of every arm64
	NEONDot                 // with the dot products of bytes, SDOT
	levels
)

var levelNames = [levels]string{"portable", "avx2", "avx512vnni", "amx", "neon", "neon+dotprod"}

// String names the level.
func (l Level) String() string {
	if l >= levels {
		return fmt.Sprintf("level %d", uint8(l))
	}
	return levelNames[l]
}

// Supported lists the levels that this build and machine can run, Portable
// first, the fastest last. AMX is listed where the processor has it and the
// operating system saves its registers; whether the process may use it, New
// asks. Safe for concurrent use.
func Supported() []Level { return supported() }

// Best is the fastest supported level. Safe for concurrent use.
func Best() Level {
	s := Supported()
	return s[len(s)-1]
}

// Kernels is the table of functions of one level. It is immutable and safe for
// concurrent use; the scratch that its methods take is not.
type Kernels struct {
	level  Level
	linear [len(formats)][]tile
	vec    vecFuncs
	attend attendFuncs
	store  storeFuncs
	amx    *amxUnit // or nil
	peak   peakFuncs

	// formats whose tiles take panels that are no neighbours, and of one row many
	striped [len(formats)]bool
}

// New returns the kernels of level l. It panics if this machine can't run
// them: ask Supported first. For AMX it asks the operating system for the tile
// unit, once for the process and all its threads, and tries it out; where it is
// refused or its results are wrong, the kernels are those of AVX512VNNI, and
// Level says so.
func New(l Level) *Kernels {
	for _, s := range Supported() {
		if s == l {
			return newKernels(l)
		}
	}
	panic(fmt.Sprintf("kern: level %v is not supported by this machine or build", l))
}

// Level tells which level the kernels are of. Safe for concurrent use.
func (k *Kernels) Level() Level { return k.level }

// newKernels fills the table: the portable row first, then whatever the level
// has of its own.
func newKernels(l Level) *Kernels {
	k := &Kernels{level: l, vec: portableVec, attend: portableAttend, store: portableStore, peak: portablePeak}
	for i := range formats {
		k.linear[i] = []tile{{panels: 1, rows: 1, run: formats[i].dot}}
		if many := formats[i].dots; many != nil {
			k.linear[i] = []tile{{panels: 1, rows: takenRows, run: many}, {panels: 1, rows: 1, run: formats[i].dot}}
		}
	}
	choose(k, l)
	return k
}
