package cpuid

import "sync"

// PermitTiles asks the operating system to let this process use tiles, the first
// time it is called, and tells what came of it. Threads that are there and those
// to come may then use them. On Linux it also makes the kernel refuse signal
// stacks that are too small for the tiles' data; those of Go are large enough.
// To be called only where Detect reports AMXInt8, and for a use. Safe for
// concurrent use.
func PermitTiles() bool { return permitted() }

// permitted is the process's, as the permission is.
var permitted = sync.OnceValue(permitTiles)
