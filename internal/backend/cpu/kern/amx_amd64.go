//go:build !noasm

package kern

import (
	"runtime"
	"unsafe"

	"github.com/paddock-go/paddock/internal/cpuid"
	"github.com/paddock-go/paddock/internal/quant"
)

// The AMX level is AVX512VNNI with the tile unit for products of many rows. Two
// panels at a time, and part by part of the inner dimension: vectors expand the
// panels to signed bytes (expand), then for each block of at most 32 rows the
// tile unit multiplies (the tile phase) and vectors scale its int32 results into
// the outputs (the vector phase). Both alternate inside one call of assembly,
// in parts that fit the first cache.
//
//	panels ──expand──▶ bytes ─┐
//	                          ├─tile phase─▶ results ──vector phase──▶ out
//	activations ──────────────┘                          ▲
//	                                 scales of both ─────┘
//
// The integer sums are exact, and are scaled and added in the order of the
// portable kernels: same bits. Formats of 256 values multiply their scales into
// the bytes; where that takes more than 8 bits there are two planes. BF16 needs
// no expansion and no scaling: the order of its tile product is the definition.

// amxRows is the least number of rows that the tile unit is used for.
const amxRows = 16

// blockRows is the most rows of a block: those of two tiles.
const blockRows = 32

// chunk32 is how many blocks of 32 values a part of the inner dimension has:
// their results, 4 KiB each, leave the first cache room for the rest.
const chunk32 = 4

// amxFormat is how a format is computed with tiles.
type amxFormat struct {
	expand func(*expandArgs) // or nil
	code   int               // of the vector phase; of formats of 32 values that for one block
	planes int               // of formats of 256 values
	sums   uintptr           // where in a block's sums those for minima begin
}

// amxFormats are in the order of the table of formats; those without a vector
// phase are computed without tiles.
var amxFormats = [len(formats)]amxFormat{
	2:  {code: codeScaleBF16},
	3:  {expand: amxExpandQ4_0, code: codeScale1},
	4:  {expand: amxExpandQ8_0, code: codeScale1},
	5:  {expand: amxExpandQ4K, code: codeScaleKMin4, planes: 2, sums: 32},
	6:  {expand: amxExpandQ6K, code: codeScaleK, planes: 2},
	7:  {expand: amxExpandQ4_1, code: codeScaleMin1},
	8:  {expand: amxExpandQ5_0, code: codeScale1},
	9:  {expand: amxExpandQ5_1, code: codeScaleMin1},
	10: {expand: amxExpandIQ4NL, code: codeScale1},
	11: {expand: amxExpandMXFP4, code: codeScale1},
	12: {expand: amxExpandQ2K, code: codeScaleKMin8, planes: 1},
	13: {expand: amxExpandQ3K, code: codeScaleKNeg, planes: 1},
	14: {expand: amxExpandQ5K, code: codeScaleKMin4, planes: 2, sums: 32},
	15: {expand: amxExpandIQ4XS, code: codeScaleK, planes: 2},
}

// amxUnit is the tile unit as far as it may be used. It is immutable once made.
type amxUnit struct {
	int8, bf16 func(*tileArgs) // the tile phases; nil: not to be used
}

// newAMXUnit asks for the tile unit, and tries it out: a part that does not give
// the portable bits is left alone. nil: nothing of it can be used.
func newAMXUnit(f cpuid.Features, permit func() bool) *amxUnit {
	if !f.AMXInt8 || !permit() {
		return nil
	}
	u := &amxUnit{int8: amxTilesInt8}
	if f.AMXBF16 {
		u.bf16 = amxTilesBF16
	}
	return u.tried()
}

// useTiles gives k the tile unit; without one k stays what it is below.
func (k *Kernels) useTiles(u *amxUnit) {
	if k.amx = u; u == nil {
		k.level = AVX512VNNI
	}
}

// tried is u without the parts whose results are not the portable ones.
func (u *amxUnit) tried() *amxUnit {
	if u.int8 != nil && !u.agrees(quant.Q8_0) {
		u.int8 = nil
	}
	if u.bf16 != nil && !u.agrees(quant.BF16) {
		u.bf16 = nil
	}
	if u.int8 == nil && u.bf16 == nil {
		return nil
	}
	return u
}

// agrees computes one small product with tiles and without.
func (u *amxUnit) agrees(t quant.Type) bool {
	const rows, cols, outputs = 17, 64, 2 * Lanes
	f, _ := Lookup(t)
	m := NewMatrix(f, outputs, cols, make([]byte, 2*f.PanelBytes(cols)))
	seed := uint32(1)
	next := func() uint32 {
		seed = seed*1664525 + 1013904223
		return seed >> 16
	}
	file, _ := quant.Lookup(t)
	rowBytes, err := file.RowBytes(cols)
	if err != nil {
		return false
	}
	raw, values := make([]byte, Lanes*rowBytes), make([]float32, cols)
	some := func() []float32 {
		for i := range values {
			values[i] = (float32(next()) - 32768) / 4096
		}
		return values
	}
	for p := range 2 {
		for l := range Lanes {
			file.Encode(raw[l*rowBytes:(l+1)*rowBytes], some())
		}
		m.Pack(p, raw)
	}
	plain, tiled := newKernels(Portable), newKernels(AVX512VNNI)
	tiled.amx = u
	acts := NewActs(f.Act, rows, cols)
	for r := range rows {
		tiled.Round(acts, r, some())
	}
	want, got := make([]float32, rows*outputs), make([]float32, rows*outputs)
	var sc LinearScratch
	plain.Linear(&sc, m, acts, 0, rows, 0, 2, want, outputs)
	tiled.Linear(&sc, m, acts, 0, rows, 0, 2, got, outputs)
	for i := range want {
		if want[i] != got[i] {
			return false
		}
	}
	return true
}

// phase is the tile phase of a format, nil if it is computed without.
func (u *amxUnit) phase(f *Format) func(*tileArgs) {
	switch {
	case f.Type == quant.BF16:
		return u.bf16
	case amxFormats[f.index].expand != nil:
		return u.int8
	}
	return nil
}

// UsesTiles tells whether the AMX level computes the format with tiles.
func (f *Format) UsesTiles() bool { return amxFormats[f.index].code > 0 }

// rowsAtOnce is how many rows of a format are worth a call of Linear, so that
// the expansion of a panel serves several blocks of them; 0: as without tiles.
func (u *amxUnit) rowsAtOnce(f *Format) int {
	if u.phase(f) == nil {
		return 0
	}
	return 4 * blockRows
}

// packBF16 rounds nothing: x are bf16 values already, in whole blocks.
func (u *amxUnit) packBF16(dst []uint16, x []float32) {
	if len(x) > 0 {
		_ = dst[len(x)-1]
		amxPackBF16(&dst[0], &x[0], len(x)/Lanes)
	}
}

// sweep computes what it can of the panels, two at a time, and returns the first
// panel that is left. b is of row 0 and panel 0.
func (u *amxUnit) sweep(sc *LinearScratch, m *Matrix, x *Acts, b *dotArgs, row0, row1, panel0, panel1 int) int {
	phase := u.phase(m.Format)
	if phase == nil || row1-row0 < amxRows || panel1-panel0 < 2 {
		return panel0
	}
	if sc.amx == nil {
		sc.amx = newAMXScratch()
	}
	f, s := &amxFormats[m.Format.index], sc.amx
	for ; panel0+2 <= panel1; panel0 += 2 {
		s.start(b, row0, panel0)
		switch {
		case f.expand == nil:
			s.x = address(unsafe.Pointer(&x.h[0])) + uintptr(row0*x.padded*2)
			s.pairBF16(phase, b, row1-row0, uintptr(x.padded)*2)
		case f.planes == 0:
			s.clear(b, row0, row1, panel0)
			s.pair32(phase, f, b, row1-row0, uintptr(m.Format.BlockBytes))
		default:
			s.clear(b, row0, row1, panel0)
			s.pair256(phase, f, b, row1-row0, uintptr(m.Format.BlockBytes))
		}
	}
	runtime.KeepAlive(x)
	runtime.KeepAlive(b)
	return panel0
}

// TilePeak multiplies tiles that stay in registers and returns how many
// operations it did, 0 where there is no tile unit to use. It is what the
// benchmark measures the machine's best rate of int8 products with. Turns of 4
// products, at most 2000, take well under 100 µs. Safe for concurrent use.
func TilePeak(turns int) (ops int64) {
	if f := cpuid.Detect(); !f.AMXInt8 || !cpuid.PermitTiles() {
		return 0
	}
	return tilePeak(amxPeak, turns)
}

func tilePeak(run func(*[64]byte, int), turns int) int64 {
	var a tileArgs
	a.shape(blockRows, 64)
	turns = min(max(turns, 1), 2000)
	run(&a.config, turns)
	return int64(turns) * 4 * 2 * 16 * 16 * 64
}
