// Package draft proposes tokens that a sequence may go on with, for the target
// model to verify. A proposal costs nothing but time when it is wrong.
package draft

// NGram proposes by looking the last few tokens up in what came before them, in
// prompt and output alike: text that repeats itself goes on as it went on the
// last time (prompt lookup decoding). The zero value proposes nothing.
type NGram struct {
	Max int // longest suffix to look for, in tokens
	Min int // shortest suffix that counts as a match
	K   int // most tokens proposed
}

// Propose appends up to K tokens to dst: those that followed the latest earlier
// occurrence of the longest suffix of tokens, no shorter than Min and no longer
// than Max. It looks back over at most window tokens, allocates nothing when dst
// has room, and is safe for concurrent use.
func (g NGram) Propose(dst, tokens []int32) []int32 {
	const window = 8192
	n := len(tokens)
	if g.K <= 0 || g.Min <= 0 || n < g.Min+1 {
		return dst
	}
	low := max(0, n-window)
	last := tokens[n-1]
	bestLen, bestEnd := 0, 0
	// end is the index just past a candidate's last token, latest first, so that
	// among equally long matches the latest wins.
	for end := n - 1; end > low; end-- {
		if tokens[end-1] != last {
			continue
		}
		l := 1
		for l < g.Max && end-1-l >= low && tokens[end-1-l] == tokens[n-1-l] {
			l++
		}
		if l > bestLen {
			bestLen, bestEnd = l, end
			if l == g.Max {
				break
			}
		}
	}
	if bestLen < g.Min {
		return dst
	}
	start, period := len(dst), n-bestEnd
	for i := range g.K {
		if i < period {
			dst = append(dst, tokens[bestEnd+i])
		} else { // the match overlaps its own continuation: a repeating run goes on repeating
			dst = append(dst, dst[start+i-period])
		}
	}
	return dst
}
