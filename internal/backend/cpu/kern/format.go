package kern

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
)

// Lanes is the number of output rows of a panel.
const Lanes = 16

// Format is how a weight format lies in panels: one row of a table.
type Format struct {
	Type       quant.Type
	Act        quant.ActKind // the activations it meets
	BlockElems int           // inner values of a block
	BlockBytes int           // bytes of a block of 16 rows

	index  int
	pack   func(dst, src []byte, lane int)             // one row's blocks, file format → its lane
	unpack func(dst []float32, panel []byte, lane int) // one lane → values; whole blocks
	dot    func(*dotArgs)                              // portable, one panel, one row
	dots   func(*dotArgs)                              // or nil: the same for takenRows rows
}

// formats is the table of formats that have panels.
var formats = [...]Format{
	{quant.F32, quant.ActF32, 1, 64, 0, packF32, unpackF32, dotF32, nil},
	{quant.F16, quant.ActF32, 1, 32, 1, packF16, unpackF16, dotF16, nil},
	{quant.BF16, quant.ActBF16, 32, 1024, 2, packBF16, unpackBF16, dotBF16, nil},
	{quant.Q4_0, quant.ActQ8x32, 32, q4_0Block, 3, packQ4_0, unpackQ4_0, dotQ4_0, nil},
	{quant.Q8_0, quant.ActQ8x32, 32, q8_0Block, 4, packQ8_0, unpackQ8_0, dotQ8_0, nil},
	{quant.Q4K, quant.ActQ8x256, 256, q4KBlock, 5, packQ4K, unpackQ4K, dotQ4K, nil},
	{quant.Q6K, quant.ActQ8x256, 256, q6KBlock, 6, packQ6K, unpackQ6K, dotQ6K, nil},
	q4_1Nibbles.format(quant.Q4_1, 7),
	q5_0Nibbles.format(quant.Q5_0, 8),
	q5_1Nibbles.format(quant.Q5_1, 9),
	iq4NLNibbles.format(quant.IQ4NL, 10),
	mxfp4Nibbles.format(quant.MXFP4, 11),
	newPlanes(quant.Q2K, 12, 16, false, nil, 0, 1),
	newPlanes(quant.Q3K, 13, 16, true, nil, 4, 1),
	newPlanes(quant.Q5K, 14, 32, true, nil, 0, 1),
	newPlanes(quant.IQ4XS, 15, 32, false, quant.IQ4Levels(), 0, 1),
	newPlanes(quant.IQ3S, 16, 32, false, quant.IQ3SLevels(), 0, 1),
	newPlanes(quant.IQ3XXS, 17, 32, false, quant.IQ3XXSLevels(), 0, 1./4),
	newPlanes(quant.IQ2XXS, 18, 16, true, quant.IQ2Levels(), 0, 1./8),
	newPlanes(quant.IQ2XS, 19, 16, true, quant.IQ2Levels(), 0, 1./8),
	newPlanes(quant.IQ2S, 20, 16, true, quant.IQ2Levels(), 0, 1./8),
	newPlanes(quant.IQ1S, 21, 16, true, quant.IQ1Levels(), 0, 1./8),
	newPlanes(quant.IQ1M, 22, 16, true, quant.IQ1Levels(), 0, 1./8),
	newPlanes(quant.TQ1_0, 23, 16, false, nil, 1, 1),
	newPlanes(quant.TQ2_0, 24, 16, false, nil, 1, 1),
	newNVFP4(25),
	taken(quant.Q1_0, 26),
	taken(quant.Q2_0, 27),
}

// Lookup finds the panel format of a weight type. Safe for concurrent use.
func Lookup(t quant.Type) (*Format, bool) {
	for i := range formats {
		if formats[i].Type == t {
			return &formats[i], true
		}
	}
	return nil, false
}

// Blocks is the number of blocks of an inner dimension of cols values, the
// last one padded.
func (f *Format) Blocks(cols int) int { return (cols + f.BlockElems - 1) / f.BlockElems }

// PanelBytes is the size of one panel with an inner dimension of cols values.
func (f *Format) PanelBytes(cols int) int { return f.Blocks(cols) * f.BlockBytes }

// Panels is the number of panels of rows output rows, the last one padded.
func Panels(rows int) int { return (rows + Lanes - 1) / Lanes }

// Matrix is a weight in panels. It is filled by Pack, each panel once, and
// read-only after; then safe for concurrent use.
type Matrix struct {
	Format     *Format
	Rows, Cols int
	Data       []byte // Panels(Rows) × PanelBytes(Cols); the caller's memory, best aligned to 64 bytes
}

// NewMatrix lays a rows × cols weight into data, which must be zero and hold
// Panels(rows) × PanelBytes(cols) bytes. It panics otherwise.
func NewMatrix(f *Format, rows, cols int, data []byte) *Matrix {
	want := Panels(rows) * f.PanelBytes(cols)
	if rows <= 0 || cols <= 0 || len(data) != want {
		panic(fmt.Sprintf("kern: a %d × %d matrix of %v takes %d bytes, got %d", rows, cols, f.Type, want, len(data)))
	}
	return &Matrix{Format: f, Rows: rows, Cols: cols, Data: data}
}

// Panels is the number of panels of m.
func (m *Matrix) Panels() int { return Panels(m.Rows) }

// Pack fills panel p from its rows in file format: src holds them one after
// another, 16 or, for the last panel, what is left. Rows that do not exist
// stay zero. Safe for concurrent use on distinct panels.
func (m *Matrix) Pack(p int, src []byte) {
	n := min(Lanes, m.Rows-p*Lanes)
	if n <= 0 || len(src)%n != 0 {
		panic(fmt.Sprintf("kern: %d bytes for the %d rows of panel %d", len(src), n, p))
	}
	rowBytes := len(src) / n
	dst := m.panel(p)
	for lane := range n {
		m.Format.pack(dst, src[lane*rowBytes:(lane+1)*rowBytes], lane)
	}
}

// Row widens row r to float32, the same bits as the file format's decoder
// gives. dst must hold whole blocks: BlockElems × Blocks(Cols) values. Safe for
// concurrent use on distinct dst.
func (m *Matrix) Row(dst []float32, r int) {
	if r < 0 || r >= m.Rows || len(dst) < m.Format.Blocks(m.Cols)*m.Format.BlockElems {
		panic(fmt.Sprintf("kern: row %d of %d into %d values", r, m.Rows, len(dst)))
	}
	m.Format.unpack(dst, m.panel(r/Lanes), r%Lanes)
}

func (m *Matrix) panel(p int) []byte {
	n := m.Format.PanelBytes(m.Cols)
	return m.Data[p*n : (p+1)*n : (p+1)*n]
}
