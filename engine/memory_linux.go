package engine

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// availableMemory is the number of bytes that the process can still take: what
// the kernel says is available, within the limits of its control groups.
func availableMemory() (int64, bool) { return availableIn(os.DirFS("/")) }

// availableIn is availableMemory of a file system with proc and sys/fs/cgroup.
func availableIn(root fs.FS) (int64, bool) {
	avail, known := numberOf(root, "proc/meminfo", "MemAvailable:")
	avail <<= 10
	for _, g := range groupsIn(root) {
		limit, ok := readInt(root, path.Join(g.dir, g.limit))
		used, ok2 := readInt(root, path.Join(g.dir, g.used))
		if !ok || !ok2 {
			continue // the root has no limit, nor has a group of "max"
		}
		// Cached pages of files that were not used lately go as soon as memory is wanted.
		idle, _ := numberOf(root, path.Join(g.dir, "memory.stat"), g.idle)
		if left := max(limit-max(used-idle, 0), 0); !known || left < avail {
			avail, known = left, true
		}
	}
	return avail, known
}

// group is a folder of control files, and what those are called.
type group struct{ dir, limit, used, idle string }

// groupsIn lists the control groups whose limits the process is under: its own and
// all above it, of both versions. In a container the path is often that of the host
// and what is mounted begins with the container's own group: then the walk finds
// nothing until it comes to the mount's root.
func groupsIn(root fs.FS) []group {
	var list []group
	walk := func(mount, own string, g group) {
		for own = path.Clean("/" + own); ; own = path.Dir(own) {
			g.dir = path.Join(mount, own)
			list = append(list, g)
			if own == "/" {
				return
			}
		}
	}
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		b = []byte("0::/\n1:memory:/\n")
	}
	for line := range bytes.Lines(b) {
		f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3) // number:controllers:path
		switch {
		case len(f) < 3:
		case f[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				walk(mount, f[2], group{limit: "memory.max", used: "memory.current", idle: "inactive_file"})
			}
		case strings.Contains(","+f[1]+",", ",memory,"):
			walk("sys/fs/cgroup/memory", f[2], group{limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", idle: "total_inactive_file"})
		}
	}
	return list
}

// numberOf is the number behind a word that begins a line.
func numberOf(root fs.FS, name, word string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		if f := strings.Fields(string(line)); len(f) >= 2 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// readInt reads a file of one number; a word ("max") is no number.
func readInt(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}
