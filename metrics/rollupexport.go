package metrics

import (
	"math/bits"
	"slices"
	"time"
)

// export makes an answer of the words that were cut out.
func (c *rollupCut) export() Rollups {
	rl := c.layout
	out := Rollups{Run: c.run, Shift: int64(c.shift / time.Second), From: c.unix(c.from), To: c.unix(c.to), Step: int64(c.grain.step / time.Second),
		Bounds: RollupBounds{slices.Clone(rl.ladders[rollupDuration].bounds), slices.Clone(rl.ladders[rollupFirstToken].bounds),
			slices.Clone(rl.ladders[rollupPerToken].bounds)},
		Series: []RollupSeries{}, Models: []RollupModel{}}
	for _, m := range c.models {
		for i, words := range m.requests {
			if len(words) == 0 {
				continue
			}
			s := RollupSeries{Operation: Operation(i / NumOrigins).String(), Origin: Origin(i % NumOrigins).String(), Model: m.name}
			sum := newWideSums(rl)
			for ; len(words) > 0; words = words[1+rl.width:] {
				values := words[1 : 1+rl.width]
				s.Slots = append(s.Slots, RollupSlot{c.unix(words[0]), rl.export(values, nil)})
				sum.add(values)
			}
			s.Total = sum.export()
			out.Series = append(out.Series, s)
		}
		out.Models = append(out.Models, c.exportModel(&m))
	}
	return out
}

// unix is the start of a slot.
func (c *rollupCut) unix(number uint64) int64 {
	return (int64(number)*int64(c.grain.step) + int64(c.shift)) / int64(time.Second)
}

func (c *rollupCut) exportModel(m *modelCut) RollupModel {
	out := RollupModel{Model: m.name, Open: m.open, Slots: []RollupModelSlot{}}
	total := make([]uint64, engineWidth)
	for words := m.engine; len(words) > 0; words = words[1+engineWidth:] {
		values := words[1 : 1+engineWidth]
		out.Slots = append(out.Slots, RollupModelSlot{c.unix(words[0]), exportEngine(values)})
		mergeSlot(total, values, rollupMaxima)
	}
	out.Total = exportEngine(total)
	return out
}

func exportEngine(v []uint64) RollupEngine {
	return RollupEngine{KVPagesMax: v[0], RunningMax: v[1], WaitingMax: v[2], SpecDraftTokens: v[3], SpecAcceptedTokens: v[4],
		Preemptions: v[5], PrefixQueries: v[6], PrefixHits: v[7]}
}

// export names the values of a combination; hi are the upper halves of the histograms' sums, nil: all 0.
func (rl *rollupLayout) export(values []uint64, hi *[numRollupHists]uint64) RollupCounts {
	var hists [numRollupHists]RollupHistogram
	for i := range hists {
		counts := rl.counts(values, i)
		sum := float64(values[rl.at[i]+len(counts)])
		if hi != nil {
			sum += float64(hi[i]) * (1 << 64)
		}
		hists[i] = RollupHistogram{Counts: counts, Sum: sum / rl.ladders[i].unit}
	}
	c := RollupCounts{Requests: rl.requests(values), ClientErrors: values[class4xx], ServerErrors: values[class5xx],
		Disconnects: values[classDisconnect], PromptTokens: values[rollupTokens], CachedTokens: values[rollupTokens+1],
		GeneratedTokens: values[rollupTokens+2], Duration: hists[rollupDuration], FirstToken: hists[rollupFirstToken],
		PerToken: hists[rollupPerToken]}
	c.Successes = c.Requests - c.ClientErrors - c.ServerErrors - c.Disconnects
	return c
}

// wideSums add up slots: the nanoseconds of many slots can exceed 64 bits.
type wideSums struct {
	layout *rollupLayout
	values []uint64
	hi     [numRollupHists]uint64
}

func newWideSums(rl *rollupLayout) *wideSums {
	return &wideSums{layout: rl, values: make([]uint64, rl.width)}
}

func (w *wideSums) add(values []uint64) {
	for i := range w.hi {
		at := w.layout.at[i] + w.layout.ladders[i].cells() - 1
		_, carry := bits.Add64(w.values[at], values[at], 0)
		w.hi[i] += carry
	}
	mergeSlot(w.values, values, 0)
}

func (w *wideSums) export() RollupTotal {
	rl := w.layout
	quantiles := func(hist int) *Quantiles {
		counts, bounds := rl.counts(w.values, hist), rl.ladders[hist].bounds
		var all uint64
		for _, n := range counts {
			all += n
		}
		if all == 0 {
			return nil
		}
		return &Quantiles{quantile(0.5, bounds, counts), quantile(0.9, bounds, counts), quantile(0.95, bounds, counts), quantile(0.99, bounds, counts)}
	}
	return RollupTotal{rl.export(w.values, &w.hi), RollupQuantiles{quantiles(rollupDuration), quantiles(rollupFirstToken), quantiles(rollupPerToken)}}
}
