package ptxsim

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/backend/cuda/fragment"
)

// matrixLoad is one form of ldmatrix. All lanes of the warp take part, as with
// matrixOp.
type matrixLoad struct {
	text     string
	matrices int // registers of the result
	lies     *fragment.Table
}

// matrixLoads are the forms that the interpreter knows: of shared memory by an
// address within it (.shared) or a generic one, which the executor resolves.
var matrixLoads = []matrixLoad{
	{"ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x2.shared.b16", 2, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", 1, fragment.LoadedTrans},
	{"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2, fragment.LoadedTrans},
	{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, fragment.LoadedTrans},
	{"ldmatrix.sync.aligned.m8n8.x1.b16", 1, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x2.b16", 2, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x4.b16", 4, fragment.Loaded},
	{"ldmatrix.sync.aligned.m8n8.x1.trans.b16", 1, fragment.LoadedTrans},
	{"ldmatrix.sync.aligned.m8n8.x2.trans.b16", 2, fragment.LoadedTrans},
	{"ldmatrix.sync.aligned.m8n8.x4.trans.b16", 4, fragment.LoadedTrans},
}

// findMatrixLoad is the form of an instruction's text, or nil.
func findMatrixLoad(text string) *matrixLoad {
	for i := range matrixLoads {
		if matrixLoads[i].text == text {
			return &matrixLoads[i]
		}
	}
	return nil
}

// load fills d. addrs are the lanes' addresses, of which only those of RowLane are
// read. fetch reads the 16 bytes of a row on behalf of the lane that gave its
// address: it checks them against the allocation, the alignment of 16 and races.
func (m *matrixLoad) load(d regs, addrs *[fragment.Lanes]uint64, fetch func(lane int, addr uint64, row []byte) error) error {
	var rows [8][fragment.RowBytes]byte
	for i := range m.matrices {
		for r := range rows {
			lane := fragment.RowLane(i, r)
			if err := fetch(lane, addrs[lane], rows[r][:]); err != nil {
				return err
			}
		}
		for lane := range fragment.Lanes {
			low, high := m.lies.At(lane, 0, 0), m.lies.At(lane, 0, 1)
			d[i][lane] = uint32(binary.LittleEndian.Uint16(rows[low.Row][2*low.Col:])) |
				uint32(binary.LittleEndian.Uint16(rows[high.Row][2*high.Col:]))<<16
		}
	}
	return nil
}
