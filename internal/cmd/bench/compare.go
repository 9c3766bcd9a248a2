package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// comparison is one figure of both sides over the pairs that count. A ratio above 1
// says that ours is better, whatever the unit.
type comparison struct {
	Test    string `json:"test"`
	Unit    unit   `json:"unit"`
	Ours    spread `json:"ours"`
	Theirs  spread `json:"theirs"`
	Ratio   spread `json:"ratio"`             // of the pairs, each within itself
	Setting string `json:"setting,omitempty"` // of theirs that counts, where it was asked for several
	Pairs   int    `json:"pairs"`
	Dropped int    `json:"dropped"`         // pairs around which the machine's peaks differed too much
	Short   int    `json:"short,omitempty"` // pairs for which there was no time

	Threads  int    `json:"threads,omitempty"`
	Backend  string `json:"backend,omitempty"`
	Checksum string `json:"checksum,omitempty"`

	Peaks       peaks   `json:"peaks"`                  // the middle of the pairs'
	Bytes       int64   `json:"step_bytes,omitempty"`   // what a step must read at least
	Share       float64 `json:"share,omitempty"`        // of the plain read beside it that ours reached with that
	TheirsShare float64 `json:"theirs_share,omitempty"` // and theirs
}

// comparisons are the figures of paired runs: first what they were run for. steps is how
// many tokens a step gives; 0: no step's reading is looked at.
func (p *paired) comparisons(steps int) []comparison {
	if len(p.kept) == 0 {
		return nil
	}
	best := p.best()
	var list []comparison
	first := p.kept[0].ours
	for i, f := range first.figures {
		c := comparison{Test: f.name, Unit: f.unit, Pairs: len(p.kept), Dropped: p.dropped, Short: p.short}
		var ours, theirs, ratios []float64
		for _, made := range p.kept {
			o, t := made.ours.figures[i].value, 0.0
			if best >= 0 {
				t = made.theirs[best].value(f.name)
			}
			ours, theirs, ratios = append(ours, o), append(theirs, t), append(ratios, f.unit.ratio(o, t))
		}
		c.Ours, c.Theirs, c.Ratio = spreadOf(ours), spreadOf(theirs), spreadOf(ratios)
		if best >= 0 {
			c.Setting = p.settings[best]
		}
		c.Threads, c.Backend, c.Checksum = first.row.Threads, first.row.Backend, first.row.Checksum
		c.Peaks = p.peaks()
		if i == 0 && steps > 0 && first.row.Bytes > 0 {
			c.Bytes = first.row.Bytes
			c.Share = c.shareOf(c.Ours.Median / float64(steps))
			c.TheirsShare = c.shareOf(c.Theirs.Median / float64(steps))
		}
		list = append(list, c)
	}
	return list
}

// shareOf is what steps a second with so many bytes are of the plain read.
func (c *comparison) shareOf(steps float64) float64 {
	return steps * float64(c.Bytes) / (c.Peaks.Read * 1e9)
}

// value is a figure by its name; 0: there is none.
func (o *outcome) value(name string) float64 {
	for _, f := range o.figures {
		if f.name == name {
			return f.value
		}
	}
	return 0
}

// peaks is the middle of all pairs'.
func (p *paired) peaks() peaks {
	var read, fma, tile []float64
	for _, made := range p.kept {
		read, fma, tile = append(read, made.peaks.Read), append(fma, made.peaks.FMA), append(tile, made.peaks.Tile)
	}
	return peaks{spreadOf(read).Median, spreadOf(fma).Median, spreadOf(tile).Median}
}

// compareHead heads the lines of comparisons.
var compareHead = fmt.Sprintf("%-16s %5s  %10s %10s  %6s  %-14s %6s %6s  %5s  %s", "test", "unit", "ours", "theirs", "ratio", "min..max", "ours/r", "their/r", "pairs", "setting, peaks")

func (c comparison) String() string {
	share := func(s float64) string {
		if s == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %%", 100*s)
	}
	pairs := fmt.Sprint(c.Pairs)
	if c.Dropped > 0 {
		pairs += fmt.Sprintf(" (%d dropped)", c.Dropped)
	}
	if c.Short > 0 {
		pairs += fmt.Sprintf(" (no time for %d)", c.Short)
	}
	return strings.TrimRight(fmt.Sprintf("%-16s %5s  %10.4g %10.4g  %6.2f  %-14s %6s %6s  %5s  %s, read %.1f GB/s, fma %.0f GFLOPS%s", c.Test, c.Unit, c.Ours.Median, c.Theirs.Median,
		c.Ratio.Median, fmt.Sprintf("%.2f..%.2f", c.Ratio.Min, c.Ratio.Max), share(c.Share), share(c.TheirsShare), pairs, c.Setting, c.Peaks.Read, c.Peaks.FMA, c.Peaks.tile()), " ")
}

func (p peaks) tile() string {
	if p.Tile == 0 {
		return ""
	}
	return fmt.Sprintf(", tile %.1f TOPS", p.Tile)
}

// errNoPair is a test of whose pairs none counts.
var errNoPair = errors.New("no pair counts: the machine's peaks differed around each, so something else was running")

// childLimit is how long one run of a program may take.
const childLimit = 15 * time.Minute
