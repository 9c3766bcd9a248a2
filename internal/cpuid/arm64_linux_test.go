//go:build arm64 && !noasm

package cpuid

import (
	"encoding/binary"
	"testing"
)

func TestHWCAP(t *testing.T) {
	var auxv []byte
	for _, w := range []uint64{6, 4096, atHWCAP, hwcapASIMDDP | 3, 0, 0} {
		auxv = binary.LittleEndian.AppendUint64(auxv, w)
	}
	for _, c := range []struct {
		name string
		auxv []byte
		want uint64
	}{
		{"whole", auxv, hwcapASIMDDP | 3},
		{"cut before the value", auxv[:24], 0},
		{"without it", auxv[:16], 0},
		{"empty", nil, 0},
	} {
		if got := hwcap(c.auxv); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
