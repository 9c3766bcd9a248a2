package engine

import (
	"testing"
	"testing/fstest"
)

// TestAvailable reads what is available in the control groups of both versions, one
// in another, within and without a namespace.
func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:       8000 kB\nMemFree: 1 kB\nMemAvailable:   4000 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
		known bool
	}{
		{"nothing is said", nil, 0, false},
		{"no group", map[string]string{"proc/meminfo": meminfo}, 4000 << 10, true},
		{"no number", map[string]string{"proc/meminfo": "MemAvailable: many kB\n"}, 0, false},
		{"v2, nested, the parent is tighter", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.scope\n",
			"sys/fs/cgroup/a.slice/b.scope/memory.max": "max\n", "sys/fs/cgroup/a.slice/b.scope/memory.current": "100\n",
			"sys/fs/cgroup/a.slice/memory.max": "3000\n", "sys/fs/cgroup/a.slice/memory.current": "1000\n",
		}, 2000, true},
		{"v2, cached files count as free", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "3000\n", "sys/fs/cgroup/a/memory.current": "2500\n", "sys/fs/cgroup/a/memory.stat": "anon 1700\ninactive_file 800\n",
		}, 1300, true},
		{"v2, the mount begins with the own group", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/host/path/of/it\n",
			"sys/fs/cgroup/memory.max": "3000\n", "sys/fs/cgroup/memory.current": "1\n",
		}, 2999, true},
		{"v1, nested", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "9:cpuset:/\n4:cpu,memory:/x/y\n0::/\n",
			"sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/x/y/memory.usage_in_bytes": "5\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "700\n", "sys/fs/cgroup/memory/x/memory.usage_in_bytes": "600\n", "sys/fs/cgroup/memory/x/memory.stat": "total_inactive_file 50\n",
		}, 150, true},
		{"both, v2 elsewhere", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n0::/u\n",
			"sys/fs/cgroup/unified/u/memory.max": "900\n", "sys/fs/cgroup/unified/u/memory.current": "1000\n",
		}, 0, true},
		{"a path that climbs", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\nrubbish\n",
			"sys/fs/cgroup/x/memory.max": "900\n", "sys/fs/cgroup/x/memory.current": "100\n",
		}, 800, true},
	} {
		root := fstest.MapFS{}
		for name, data := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(data)}
		}
		if got, known := availableIn(root); got != c.want || known != c.known {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, got, known, c.want, c.known)
		}
	}
	if n, known := availableMemory(); !known || n < 1<<20 {
		t.Errorf("this machine has %d, %v", n, known)
	}
}
