//go:build noasm || !amd64

package kern

// amxUnit is the tile unit, which this build has not.
type amxUnit struct{}

// amxScratch is memory for it.
type amxScratch struct{}

func newAMXScratch() *amxScratch { return nil }

func (*amxUnit) sweep(sc *LinearScratch, _ *Matrix, _ *Acts, _ *dotArgs, _, _, panel0, _ int) int {
	sc.amx = nil
	return panel0
}

func (*amxUnit) rowsAtOnce(*Format) int { return 0 }

func (*amxUnit) packBF16([]uint16, []float32) {}

// UsesTiles tells whether the AMX level computes the format with tiles.
func (f *Format) UsesTiles() bool { return false }

// TilePeak multiplies tiles that stay in registers and returns how many
// operations it did: 0, for there are no tiles. Safe for concurrent use.
func TilePeak(turns int) (ops int64) { return 0 }
