package metrics

import "math"

// The histograms of the vLLM view, within an engine's vllmBook.
const (
	vFirstToken histID = iota
	vGap
	vPerToken
	vLatency
	vQueue
	vInference
	vPrefill
	vDecode
	vPrompt
	vComputed
	vTokens
	vMostTokens
	vMaxTokens
	vChoices
	vPreemptions
	vStepTokens
	vLifetime
	vIdle
	vReuse

	numVLLMHists = int(iota)
)

// assumedContext stands in for the context of an engine that doesn't say how long its sequences may become.
const assumedContext = 32768

// newVLLMLayout lays the histograms out one after another, on vLLM's bounds. Those of sizes depend on the longest sequence.
func newVLLMLayout(maxContext int) *layout {
	var (
		first   = fixed(perSecond, 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560)
		gap     = fixed(perSecond, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
		latency = fixed(perSecond, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
		stay    = fixed(perSecond, residencyBounds...)
		step    = fixed(1, 1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
		choices = fixed(1, 1, 2, 5, 10, 20)
		lost    = fixed(1, 1, 2, 3, 4, 5, 10, 20)
		sizes   = oneTwoFive(maxContext)
	)
	l := &layout{at: make([]int, numVLLMHists), ladders: []*ladder{
		vFirstToken: first, vGap: gap, vPerToken: gap,
		vLatency: latency, vQueue: latency, vInference: latency, vPrefill: latency, vDecode: latency,
		vPrompt: sizes, vComputed: sizes, vTokens: sizes, vMostTokens: sizes, vMaxTokens: sizes,
		vChoices: choices, vPreemptions: lost, vStepTokens: step,
		vLifetime: stay, vIdle: stay, vReuse: stay,
	}}
	for id, ladder := range l.ladders {
		l.at[id] = l.size
		l.size += ladder.cells()
	}
	return l
}

// fixed returns the ladder of bounds that stand in the code.
func fixed(unit float64, bounds ...float64) *ladder {
	l := &ladder{unit: unit, bounds: bounds}
	for _, b := range bounds {
		l.limits = append(l.limits, uint64(math.Round(b*unit)))
	}
	return l
}

// oneTwoFive returns 1, 2, 5, 10, 20, 50, … up to most.
func oneTwoFive(most int) *ladder {
	if most <= 0 {
		most = assumedContext
	}
	var bounds []float64
	for ten := uint64(1); ; ten *= 10 {
		for _, digit := range []uint64{1, 2, 5} {
			if digit*ten > uint64(most) {
				return fixed(1, bounds...)
			}
			bounds = append(bounds, float64(digit*ten))
		}
	}
}
