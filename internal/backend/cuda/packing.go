package cuda

import (
	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// packing is how the weights of a format lie in device memory: as one or more planes,
// quants in one and scales in another, say, each of them row group by row group.
//
//	plane 0   │ group 0: bytes[0] │ group 1 │ … │   of a stack: matrix after matrix
//	plane 1   │ group 0: bytes[1] │ group 1 │ … │
//
// The last group of a matrix is padded with zeros.
type packing struct {
	group int // rows that are packed together

	// planes is the bytes of each plane for one group of rows of so many columns,
	// multiples of 16.
	planes func(cols int) []int64

	// pack lays rows of a file out: rows are whole groups, but for the last of a
	// matrix, and dst[i], all zeros, is their part of plane i. It may be called from
	// several goroutines at once.
	pack func(dst [][]byte, src []byte, rows, cols int)
}

// matrix is a weight in device memory, or a stack of them.
type matrix struct {
	format quant.Type
	rows   int // of one matrix
	cols   int
	stack  int // matrices; 1: no stack

	planes []address
	// strides are the bytes from one matrix of a stack to the next in each plane.
	strides []int64
}

// newMatrix lays a weight out, at no address yet.
func newMatrix(w prog.Weight, t quant.Type) (*matrix, error) {
	p, ok := packings[t]
	if !ok {
		return nil, &UnsupportedError{What: "format of weights", Which: t.String()}
	}
	m := &matrix{format: t, rows: w.Rows, cols: w.Cols, stack: max(w.Stack, 1)}
	for _, bytes := range p.planes(w.Cols) {
		m.strides = append(m.strides, backend.Product(int64(ceilDiv(w.Rows, p.group)), bytes))
	}
	m.planes = make([]address, len(m.strides))
	return m, nil
}

// take gives the planes their places.
func (m *matrix) take(r *regions) {
	for i, bytes := range m.strides {
		m.planes[i] = r.take(backend.Product(int64(m.stack), bytes))
	}
}
