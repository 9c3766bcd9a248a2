//go:build !linux

package cpu

// cpuQuota: only Linux has control groups.
func cpuQuota() (float64, bool) { return 0, false }

// affinity: the runtime's number of processors will do.
func affinity() (int, bool) { return 0, false }
