package metrics

import "slices"

// rollupLayout says where the values of a slot lie, which come from a ledger and a snapshot.
//
//	a combination: │ failures by class │ prompt, cached, generated │ hist 0 │ hist 1 │ hist 2 │     hist: │ buckets │ without bound │ sum │
//	an engine:     │ pages, running, waiting (maxima) │ drafted, accepted, preempted, looked up, found │
type rollupLayout struct {
	ledger  *layout
	ladders [numRollupHists]*ladder
	at      [numRollupHists]int
	width   int // values of a combination
}

const (
	rollupTokens = numFailClasses // prompt, cached, generated
	rollupHist   = rollupTokens + 3

	rollupMaxima = 3 // of an engine: the values that are maxima
	engineWidth  = 8
)

// The histograms that are rolled up.
const (
	rollupDuration = iota
	rollupFirstToken
	rollupPerToken
	numRollupHists
)

// The classes of failures.
const (
	class4xx = iota
	class5xx
	classDisconnect
	numFailClasses
)

var failClassNames = [numFailClasses]string{"4xx", "5xx", "disconnect"}

// failClasses is the class of each fail reason.
var failClasses = func() (of [NumFailReasons]int) {
	for f := range of {
		of[f] = max(0, slices.Index(failClassNames[:], fails[f].class))
	}
	return
}()

func newRollupLayout(l *layout) *rollupLayout {
	rl := &rollupLayout{ledger: l, width: rollupHist,
		ladders: [numRollupHists]*ladder{l.ladders[hDuration], l.ladders[hFirstToken], l.ladders[hPerToken]}}
	for i, ladder := range rl.ladders {
		rl.at[i] = rl.width
		rl.width += ladder.cells()
	}
	return rl
}

// size is how many totals a model has: a row for each combination, then the engine's.
func (rl *rollupLayout) size() int { return numCombinations*rl.width + engineWidth }

// row is the part of a model's totals that is a combination's.
func (rl *rollupLayout) row(totals []uint64, combination int) []uint64 {
	from := combination * rl.width
	return totals[from : from+rl.width : from+rl.width]
}

// engine is the part that is the engine's.
func (rl *rollupLayout) engine(totals []uint64) []uint64 { return totals[numCombinations*rl.width:] }

// read fills totals with what a model has counted; maxima are left at 0. The caller holds the scrape lock.
func (rl *rollupLayout) read(m *Model, totals []uint64) {
	clear(totals)
	s := &m.last
	for op := range NumOperations {
		for or := range NumOrigins {
			row, words := rl.row(totals, op*NumOrigins+or), m.ledger.lo[rl.ledger.base(Operation(op), Origin(or)):]
			for f := int(NoFail) + 1; f < NumFailReasons; f++ {
				row[failClasses[f]] += words[rl.ledger.failure+f]
			}
			row[rollupTokens], row[rollupTokens+1], row[rollupTokens+2] = s.Prompt[op][or], s.Cached[op][or], s.Generated[op][or]
			for i := range errorTypes {
				rl.addHist(row, rollupDuration, words, hDuration+histID(i))
			}
			rl.addHist(row, rollupFirstToken, words, hFirstToken)
			rl.addHist(row, rollupPerToken, words, hPerToken)
		}
	}
	copy(rl.engine(totals)[rollupMaxima:], []uint64{s.Spec.DraftTokens, s.Spec.AcceptedTokens, s.Preemptions, s.PrefixQueries, s.PrefixHits})
}

func (rl *rollupLayout) addHist(row []uint64, hist int, words []uint64, id histID) {
	row = row[rl.at[hist]:]
	for i, v := range words[rl.ledger.at[id]:][:rl.ladders[hist].cells()] {
		row[i] += v
	}
}

// requests is how many requests values of a combination count: each has one duration.
func (rl *rollupLayout) requests(values []uint64) (n uint64) {
	for _, c := range rl.counts(values, rollupDuration) {
		n += c
	}
	return n
}

// counts are the buckets of a histogram among the values of a combination; the word after them is the sum.
func (rl *rollupLayout) counts(values []uint64, hist int) []uint64 {
	return values[rl.at[hist]:][:rl.ladders[hist].cells()-1]
}
