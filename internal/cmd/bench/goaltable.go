package main

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
)

// goalTable is the goals' results as Markdown. A goal that was not measured says so.
func goalTable(list iter.Seq[goal], rows map[string]goalRow) string {
	var b strings.Builder
	b.WriteString("| goal | ours | theirs | ratio, min to max | at least / aim | | of a plain read: ours, theirs | pairs |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	machines := map[string]bool{}
	for g := range list {
		row, ok := rows[g.id]
		if ok {
			machines["commit "+row.Commit+" on "+row.Machine] = true
		}
		c := row.Comparison
		if c == nil {
			why := "not measured"
			if row.Fault != "" {
				why = strings.NewReplacer("|", "/", "\n", " ").Replace(row.Fault)
			}
			fmt.Fprintf(&b, "| `%s` | | | | %s | %s | | |\n", g.id, g.wanted(), why)
			continue
		}
		shares, pairs, theirs := "", fmt.Sprint(c.Pairs), fmt.Sprintf("%.4g", c.Theirs.Median)
		if c.Share > 0 {
			shares = fmt.Sprintf("%.0f %%, %.0f %% of %.1f GB/s", 100*c.Share, 100*c.TheirsShare, c.Peaks.Read)
		}
		if c.Dropped > 0 {
			pairs += fmt.Sprintf(", %d dropped", c.Dropped)
		}
		if strings.HasPrefix(c.Setting, "fa ") {
			theirs += " (" + c.Setting + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %.4g %s | %s | %.2f, %.2f to %.2f | %s | %s | %s | %s |\n", g.id, c.Ours.Median, c.Unit, theirs,
			c.Ratio.Median, c.Ratio.Min, c.Ratio.Max, g.wanted(), g.verdict(c), shares, pairs)
	}
	for _, m := range slices.Sorted(maps.Keys(machines)) {
		fmt.Fprintf(&b, "\nMeasured: %s\n", m)
	}
	return b.String()
}

// machine says in words on what was measured.
func machine() string {
	name := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	tiles := ""
	if kern.TilePeak(1) > 0 {
		tiles = ", tiles"
	}
	return fmt.Sprintf("%s, %d cores, %v%s, %s/%s, %s", name, runtime.NumCPU(), kern.Best(), tiles, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// commit is the checkout's in whose folder this runs; "unknown" where there is none.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
