package cpu

import (
	"os"
	"strconv"
	"strings"
)

// cpuQuota returns how many processors the control group grants, as a
// fraction: a container limited to 2.5 is throttled, all at once, if three
// workers compute.
func cpuQuota() (float64, bool) {
	if data, err := os.ReadFile("/sys/fs/cgroup/cpu.max"); err == nil {
		quota, period, ok := strings.Cut(strings.TrimSpace(string(data)), " ")
		if ok {
			return ratio(quota, period)
		}
		return 0, false
	}
	quota, err1 := os.ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	period, err2 := os.ReadFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return ratio(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

// ratio is quota ÷ period; "max" and −1 mean that there is none.
func ratio(quota, period string) (float64, bool) {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || !(q > 0) || !(p > 0) {
		return 0, false
	}
	return q / p, true
}
