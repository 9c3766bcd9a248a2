package fragment

// MMA is the shape of an mma.sync instruction, D = A × B + C, with the layouts of its
// matrices; D lies as C does.
type MMA struct {
	Shape   string // as the instruction spells it
	M, N, K int
	A, B, C *Table
}

// The shapes that the kernels may use. The types that share one lie alike: f16 as
// bf16, s8 as u8; the accumulator is f32 for the floats, s32 for the integers.
var (
	// M16N8K8Half multiplies f16 or bf16.
	M16N8K8Half = &MMA{"m16n8k8", 16, 8, 8, newTable("A of m16n8k8 f16", 16, 8, 16, aHalf8), newTable("B of m16n8k8 f16", 8, 8, 16, bHalf), accumulator}
	// M16N8K16Half multiplies f16 or bf16.
	M16N8K16Half = &MMA{"m16n8k16", 16, 8, 16, newTable("A of m16n8k16 f16", 16, 16, 16, aHalf16), newTable("B of m16n8k16 f16", 16, 8, 16, bHalf), accumulator}
	// M16N8K16Byte multiplies s8.
	M16N8K16Byte = &MMA{"m16n8k16", 16, 8, 16, newTable("A of m16n8k16 s8", 16, 16, 8, aByte16), newTable("B of m16n8k16 s8", 16, 8, 8, bByte), accumulator}
	// M16N8K32Byte multiplies s8.
	M16N8K32Byte = &MMA{"m16n8k32", 16, 8, 32, newTable("A of m16n8k32 s8", 16, 32, 8, aByte32), newTable("B of m16n8k32 s8", 32, 8, 8, bByte), accumulator}

	accumulator = newTable("C of m16n8", 16, 8, 32, cWord)
)

// Shapes are all of them.
func Shapes() []*MMA { return []*MMA{M16N8K8Half, M16N8K16Half, M16N8K16Byte, M16N8K32Byte} }

// The functions below are the manual's cases, i being the index of a, b or c there.

// aHalf8: a0 a1 in row g, a2 a3 in row g+8.
func aHalf8(g, t, i int) (row, col int) {
	if i >= 2 {
		g += 8
	}
	return g, t*2 + i&1
}

// aHalf16: row g for a0 a1 a4 a5, else g+8; the second half of the columns from a4 on.
func aHalf16(g, t, i int) (row, col int) {
	if !(i < 2 || 4 <= i && i < 6) {
		g += 8
	}
	col = t*2 + i&1
	if i >= 4 {
		col += 8
	}
	return g, col
}

// bHalf: b0 b1 in the first eight rows, b2 b3 in the next.
func bHalf(g, t, i int) (row, col int) {
	row = t*2 + i&1
	if i >= 2 {
		row += 8
	}
	return row, g
}

// aByte16: a0 to a3 in row g, a4 to a7 in row g+8.
func aByte16(g, t, i int) (row, col int) {
	if i >= 4 {
		g += 8
	}
	return g, t*4 + i&3
}

// aByte32: row g for a0 to a3 and a8 to a11, else g+8; the second half of the columns
// from a8 on.
func aByte32(g, t, i int) (row, col int) {
	if !(i < 4 || 8 <= i && i < 12) {
		g += 8
	}
	col = t*4 + i&3
	if i >= 8 {
		col += 16
	}
	return g, col
}

// bByte: b0 to b3 in the first sixteen rows, b4 to b7 in the next.
func bByte(g, t, i int) (row, col int) {
	row = t*4 + i&3
	if i >= 4 {
		row += 16
	}
	return row, g
}

// cWord: c0 c1 in row g, c2 c3 in row g+8.
func cWord(g, t, i int) (row, col int) {
	if i >= 2 {
		g += 8
	}
	return g, t*2 + i&1
}
