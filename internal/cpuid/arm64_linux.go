//go:build arm64 && !noasm

package cpuid

import (
	"encoding/binary"
	"os"
)

// The auxiliary vector that the kernel hands to every program holds pairs of
// words: a type and a value. HWCAP has a bit for each feature.
const (
	atHWCAP      = 16
	hwcapASIMDDP = 1 << 20
)

// hasDotProd is false too where /proc can't be read.
func hasDotProd() bool {
	auxv, err := os.ReadFile("/proc/self/auxv")
	return err == nil && hwcap(auxv)&hwcapASIMDDP != 0
}

// hwcap finds HWCAP in an auxiliary vector; 0 where it isn't.
func hwcap(auxv []byte) uint64 {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == atHWCAP {
			return binary.LittleEndian.Uint64(auxv[8:])
		}
	}
	return 0
}
