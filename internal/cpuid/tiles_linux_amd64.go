//go:build !noasm

package cpuid

import "syscall"

// The request that Linux has since 5.16, and the feature: data of tiles.
const (
	archReqXCompPerm = 0x1023
	xTileData        = 18
)

func permitTiles() bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, archReqXCompPerm, xTileData, 0)
	return errno == 0
}
