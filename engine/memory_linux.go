package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// availableMemory is the number of bytes that the process can still take: what
// the kernel says is available, within the limits of its control group.
func availableMemory() int64 {
	avail := int64(assumedMemory)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(b) {
			f := strings.Fields(string(line))
			if len(f) >= 2 && f[0] == "MemAvailable:" {
				if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					avail = kib << 10
				}
			}
		}
	}
	for _, g := range []struct{ limit, used string }{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, ok1 := readInt(g.limit)
		used, ok2 := readInt(g.used)
		if ok1 && ok2 {
			avail = min(avail, max(limit-used, 0))
		}
	}
	return avail
}

// readInt reads a file of one number; a word ("max") is no number.
func readInt(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
