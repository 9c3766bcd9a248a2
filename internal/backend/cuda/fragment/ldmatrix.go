package fragment

// What ldmatrix.sync.aligned.m8n8 leaves of one matrix of 8 rows of 8 16-bit values,
// in one register of each lane; with x2 and x4 the j-th register holds the j-th
// matrix. The kernels also load 16 columns of bytes as 8 of 16 bits by it.
var (
	// Loaded is the plain form: row g, columns 2t and 2t+1.
	Loaded = newTable("ldmatrix m8n8", 8, 8, 16, func(g, t, i int) (row, col int) { return g, 2*t + i })
	// LoadedTrans is the form .trans: rows 2t and 2t+1, column g.
	LoadedTrans = newTable("ldmatrix m8n8 .trans", 8, 8, 16, func(g, t, i int) (row, col int) { return 2*t + i, g })
)

// RowBytes is how much of memory a row of ldmatrix is, and how it must be aligned.
const RowBytes = 16

// RowLane is the lane whose address is that of a row of the matrix-th matrix: lanes 0
// to 7 give the first one's, 8 to 15 the second's and so on. The addresses of lanes
// beyond the last matrix are not read.
func RowLane(matrix, row int) int { return 8*matrix + row }
