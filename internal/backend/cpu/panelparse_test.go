package cpu

import (
	"slices"
	"testing"
)

// FuzzPanelHeader: no header but the one that was written is taken, and none does
// anything else.
func FuzzPanelHeader(f *testing.F) {
	sums := []uint32{1, 0xdeadbeef, 3}
	c := &panelCache{key: [32]byte{1, 2, 3}, size: 2*panelChunk + 100}
	good := c.header(sums)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Add((&panelCache{size: 1}).header([]uint32{0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := c.parse(b)
		if err != nil {
			return
		}
		if !slices.Equal(c.header(got), b) {
			t.Errorf("a header that says %v was taken", got)
		}
	})
}
