//go:build arm64 && !noasm

package cpuid

import "syscall"

// hasDotProd asks Windows for PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE.
func hasDotProd() bool {
	const feature = 43
	present := syscall.NewLazyDLL("kernel32.dll").NewProc("IsProcessorFeaturePresent")
	if present.Find() != nil {
		return false
	}
	yes, _, _ := present.Call(feature)
	return yes != 0
}
