package cpu

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		quota, period string
		want          float64
		ok            bool
	}{{"250000", "100000", 2.5, true}, {"max", "100000", 0, false}, {"-1", "100000", 0, false}, {"5", "0", 0, false}, {"", "", 0, false}} {
		if got, ok := ratio(c.quota, c.period); got != c.want || ok != c.ok {
			t.Errorf("ratio(%q, %q) = %v, %v", c.quota, c.period, got, ok)
		}
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name, groups string
		files        map[string]string
		want         float64
		ok           bool
	}{
		{"none", "0::/a\n", nil, 0, false},
		{"its own group", "0::/a/b\n", map[string]string{"/a/b/cpu.max": "150000 100000", "/cpu.max": "max 100000"}, 1.5, true},
		{"a group above", "0::/a/b\n", map[string]string{"/a/b/cpu.max": "max 100000", "/a/cpu.max": "100000 100000"}, 1, true},
		{"the least of all", "0::/a/b\n", map[string]string{"/a/b/cpu.max": "300000 100000", "/a/cpu.max": "200000 100000"}, 2, true},
		{"a container that sees its host's path", "0::/host/pod\n", map[string]string{"/cpu.max": "50000 100000"}, 0.5, true},
		{"the older hierarchy", "4:memory:/x\n3:cpu,cpuacct:/d\n", map[string]string{"/cpu/d/cpu.cfs_quota_us": "250000", "/cpu/d/cpu.cfs_period_us": "100000"}, 2.5, true},
		{"without a limit there", "3:cpu,cpuacct:/d\n", map[string]string{"/cpu/d/cpu.cfs_quota_us": "-1", "/cpu/d/cpu.cfs_period_us": "100000"}, 0, false},
		{"of another controller", "3:cpuset:/d\n", map[string]string{"/cpu/d/cpu.cfs_quota_us": "1", "/cpu/d/cpu.cfs_period_us": "1"}, 0, false},
		{"upwards", "0::/../../x\nrubbish\n", map[string]string{"/x/cpu.max": "100000 100000"}, 1, true},
	} {
		got, ok := quotaOf(c.groups, func(name string) (string, bool) {
			s, ok := c.files[name]
			return s, ok
		})
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestAffinity binds the process's first thread to one processor, as taskset does
// with a running one: a device made then has one worker.
func TestAffinity(t *testing.T) {
	all, ok := affinity()
	if !ok || all < 2 {
		t.Skip("one processor")
	}
	if n := defaultThreads(); n > min(all, runtime.NumCPU()) {
		t.Errorf("%d workers on %d processors", n, all)
	}
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &before); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if before.IsSet(i) {
			one.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(unix.Getpid(), &one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(unix.Getpid(), &before); err != nil {
			t.Error(err)
		}
	}()
	if n := defaultThreads(); n != 1 {
		t.Errorf("%d workers on one processor", n)
	}
}
