package metrics

import (
	"bytes"
	"os"
	"strconv"
)

// userHZ is the unit of times in /proc: fixed at 100 for every architecture that Go runs on.
const userHZ = 100

// osProcessStart reads the process's start from /proc: ticks after the boot, and the boot's Unix time.
func osProcessStart() (float64, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	boot, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return procStart(stat, boot)
}

// procStart computes it from the contents of /proc/self/stat and /proc/stat.
func procStart(stat, boot []byte) (float64, bool) {
	// The command's name is in parentheses and may hold spaces and parentheses; fields are counted from its end. The state is
	// field 3, the start time field 22.
	_, rest, ok := bytes.Cut(stat, []byte("("))
	if !ok {
		return 0, false
	}
	end := bytes.LastIndexByte(rest, ')')
	if end < 0 {
		return 0, false
	}
	fields := bytes.Fields(rest[end+1:])
	const startField = 22 - 3
	if len(fields) <= startField {
		return 0, false
	}
	ticks, err := strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(boot) {
		if v, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			btime, err := strconv.ParseUint(string(bytes.TrimSpace(v)), 10, 64)
			return float64(btime) + float64(ticks)/userHZ, err == nil
		}
	}
	return 0, false
}
