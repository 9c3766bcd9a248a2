//go:build !noasm

package cpuid

import "sync"

// Programs can't ask an ARM processor itself: its registers of features are the
// operating system's, which tells in a manner of its own.
func detect() Features { return Features{NEON: true, DotProd: dotProd()} }

// dotProd asks once.
var dotProd = sync.OnceValue(hasDotProd)
