package nvml

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// hostMemory is the machine's memory in bytes, and how much of it is in use: what
// could not be had without swapping.
func hostMemory() (total, used uint64, ok bool) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, false
	}
	return parseMeminfo(b)
}

func parseMeminfo(b []byte) (total, used uint64, ok bool) {
	var available uint64
	found := 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan() && found < 2; {
		f := strings.Fields(s.Text())
		if len(f) < 2 {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			total = n << 10
			found++
		case "MemAvailable:":
			available = n << 10
			found++
		}
	}
	return total, total - min(available, total), found == 2
}
