package metrics

import "errors"

// histID names a pushed histogram within a model's cells.
type histID int

const (
	hDuration     histID = 0 // and one for each further error type
	hFirstToken   histID = histID(len(errorTypes))
	hPerToken     histID = hFirstToken + 1
	hQueue        histID = hFirstToken + 2
	hPrefill      histID = hFirstToken + 3
	hDecode       histID = hFirstToken + 4
	hGap          histID = hFirstToken + 5
	hPromptTokens histID = hFirstToken + 6
	hTokens       histID = hFirstToken + 7
	hStepTokens   histID = hFirstToken + 8 // of the model, not of an operation and origin
	hStepTime     histID = hFirstToken + 9
	hPageLifetime histID = hFirstToken + 10
	hPageIdle     histID = hFirstToken + 11
	hPageGap      histID = hFirstToken + 12

	numHists        = int(hPageGap) + 1
	firstModelHist  = hStepTokens
	numCombinations = NumOperations * NumOrigins
)

// layout says where a model's pushed numbers lie in a flat array of words. Flat, because a scrape then drains them in one loop,
// and because an index can't be resolved to the wrong series by a lock that was forgotten.
//
//	│ combination 0                                  │ combination 1 … │ step tokens │ step time │ pages … │
//	│ hist 0 … hist n │ success by finish │ failure  │
//	  hist: │ bucket 0 … bucket k │ without bound │ sum │
//
// A combination is an operation and an origin.
type layout struct {
	ladders []*ladder // by histID
	at      []int     // within the combination; from the start for the model's own
	success int       // within the combination, + FinishReason
	failure int       // within the combination, + FailReason
	stride  int       // words of a combination
	size    int       // words of a model
}

// residencyBounds are those of vLLM's kv_cache_residency.
var residencyBounds = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800}

func newLayout(b Buckets) (*layout, error) {
	shared := doubling(10_000_000, 14, perSecond)   // 0.01 … 81.92 s
	phases := doubling(1_000_000, 18, perSecond)    // 0.001 … 131.072 s
	gaps := doubling(500_000, 15, perSecond)        // 0.0005 … 8.192 s
	sizes := doubling(1, 18, 1)                     // 1 … 131072 tokens
	steps := doubling(1, 14, 1)                     // 1 … 8192 tokens
	residency, err0 := seconds(residencyBounds)     // 0.001 … 1800 s
	duration, err1 := orSeconds(b.Duration, shared) // three of one type: named apart to join their errors
	first, err2 := orSeconds(b.FirstToken, shared)
	perToken, err3 := orSeconds(b.PerToken, shared)
	if err := errors.Join(err0, err1, err2, err3); err != nil {
		return nil, err
	}
	l := &layout{ladders: make([]*ladder, numHists), at: make([]int, numHists)}
	for i := range errorTypes {
		l.ladders[int(hDuration)+i] = duration
	}
	l.ladders[hFirstToken], l.ladders[hPerToken] = first, perToken
	l.ladders[hQueue], l.ladders[hPrefill], l.ladders[hDecode] = phases, phases, phases
	l.ladders[hGap], l.ladders[hStepTime] = gaps, gaps
	l.ladders[hPromptTokens], l.ladders[hTokens] = sizes, sizes
	l.ladders[hStepTokens] = steps
	l.ladders[hPageLifetime], l.ladders[hPageIdle], l.ladders[hPageGap] = residency, residency, residency

	for id := range firstModelHist {
		l.at[id] = l.stride
		l.stride += l.ladders[id].cells()
	}
	l.success, l.stride = l.stride, l.stride+numFinishReasons
	l.failure, l.stride = l.stride, l.stride+NumFailReasons
	l.size = l.stride * numCombinations
	for id := firstModelHist; int(id) < numHists; id++ {
		l.at[id] = l.size
		l.size += l.ladders[id].cells()
	}
	return l, nil
}

func orSeconds(bounds []float64, shared *ladder) (*ladder, error) {
	if bounds == nil {
		return shared, nil
	}
	return seconds(bounds)
}

// base is the first word of a combination. Values outside the enums can't reach it: the callers check them.
func (l *layout) base(op Operation, or Origin) int {
	return (int(op)*NumOrigins + int(or)) * l.stride
}
