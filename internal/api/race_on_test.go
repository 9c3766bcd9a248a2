//go:build race

package api

// raceOn makes load tests smaller: the race detector slows the engine down by ten.
const raceOn = true
