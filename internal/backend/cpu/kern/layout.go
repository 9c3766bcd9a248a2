package kern

import (
	"crypto/sha256"
	"fmt"

	"github.com/paddock-go/paddock/internal/quant"
)

// LayoutSum is a hash of how a format's weights lie in panels: of two blocks of
// made-up bytes, packed. It changes with the layout, so that panels which were
// kept can't be taken for others. Safe for concurrent use.
func LayoutSum(f *Format) [sha256.Size]byte {
	const cols = 512 // two of the largest blocks
	q, ok := quant.Lookup(f.Type)
	if !ok {
		panic(fmt.Sprintf("kern: no format %v", f.Type))
	}
	row, err := q.RowBytes(cols)
	if err != nil {
		panic(fmt.Sprintf("kern: %v: %v", f.Type, err))
	}
	src, x := make([]byte, Lanes*row), uint32(1)
	for i := range src {
		x = x*1664525 + 1013904223
		src[i] = byte(x >> 24)
	}
	m := NewMatrix(f, Lanes, cols, make([]byte, f.PanelBytes(cols)))
	m.Pack(0, src)
	return sha256.Sum256(m.Data)
}
