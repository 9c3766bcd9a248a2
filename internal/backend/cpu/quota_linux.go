package cpu

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// affinity is how many processors the process may run on now; the runtime's
// number is that of its start.
func affinity() (int, bool) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return 0, false
	}
	return set.Count(), set.Count() > 0
}

// cpuQuota returns how many processors the control groups of this process grant,
// as a fraction: a container limited to 2.5 is throttled, all at once, if three
// workers compute.
func cpuQuota() (float64, bool) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		groups = []byte("0::/\n0:cpu:/\n")
	}
	return quotaOf(string(groups), func(name string) (string, bool) {
		data, err := os.ReadFile("/sys/fs/cgroup" + name)
		return strings.TrimSpace(string(data)), err == nil
	})
}

// quotaOf is the least quota of the groups that lines of /proc/self/cgroup name and
// of all above them: each of them throttles. In a container the root of what is
// mounted is its own group, and the path may not be there. read reads a file below
// the mounts.
func quotaOf(groups string, read func(name string) (string, bool)) (least float64, ok bool) {
	take := func(q float64, has bool) {
		if has && (!ok || q < least) {
			least, ok = q, true
		}
	}
	for line := range strings.Lines(groups) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		for dir := path.Join("/", part[2]); ; dir = path.Dir(dir) {
			switch controllers := strings.Split(part[1], ","); {
			case part[1] == "": // the unified hierarchy
				if max, found := read(path.Join(dir, "cpu.max")); found {
					quota, period, _ := strings.Cut(max, " ")
					take(ratio(quota, period))
				}
			case slices.Contains(controllers, "cpu"):
				quota, _ := read(path.Join("/cpu", dir, "cpu.cfs_quota_us"))
				period, _ := read(path.Join("/cpu", dir, "cpu.cfs_period_us"))
				take(ratio(quota, period))
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, ok
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
