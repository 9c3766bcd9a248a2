package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps in the system. The runtime's own timers would look at the network
// meanwhile, for a millisecond at least.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal only makes it shorter
}
