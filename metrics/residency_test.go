package metrics

import (
	"testing"
	"time"
)

// The families of page residency are there where the engine samples, on vLLM's bounds, and nowhere else.
func TestResidencyFamilies(t *testing.T) {
	r := newTestRecorder(RecorderOptions{})
	on := mustOpen(t, r, "on", &fixedSource{Residency: true}, Chat)
	off := mustOpen(t, r, "off", &fixedSource{}, Chat)
	step := &StepStats{Residency: []PageResidency{
		{Lifetime: 30 * time.Minute, Idle: 2 * time.Second, Gaps: [3]time.Duration{ms, 2 * ms, 3 * ms}, NGaps: 2},
		{Lifetime: 31 * time.Minute, Idle: 31 * time.Minute, NGaps: -1},
		{Lifetime: ms, Gaps: [3]time.Duration{ms, ms, ms}, NGaps: 99}, // an engine's mistake reads no further than the array
	}}
	on.Step(step)
	off.Step(step)
	s := scrapeOf(t, r)
	for sample, want := range map[string]float64{
		`paddock_kv_block_lifetime_seconds_bucket{model="on",le="0.001"}`:  1,
		`paddock_kv_block_lifetime_seconds_bucket{model="on",le="1200"}`:   1,
		`paddock_kv_block_lifetime_seconds_bucket{model="on",le="1800"}`:   2,
		`paddock_kv_block_lifetime_seconds_bucket{model="on",le="+Inf"}`:   3,
		`paddock_kv_block_lifetime_seconds_sum{model="on"}`:                3660.001,
		`paddock_kv_block_idle_seconds_bucket{model="on",le="2"}`:          2,
		`paddock_kv_block_idle_seconds_count{model="on"}`:                  3,
		`paddock_kv_block_reuse_gap_seconds_bucket{model="on",le="0.001"}`: 4,
		`paddock_kv_block_reuse_gap_seconds_count{model="on"}`:             5,
		`paddock_kv_block_reuse_gap_seconds_bucket{model="on",le="0.002"}`: 5,
		`paddock_kv_block_reuse_gap_seconds_sum{model="on"}`:               0.006,
	} {
		s.want(t, sample, want)
	}
	for _, family := range []string{"lifetime", "idle", "reuse_gap"} {
		s.absent(t, "paddock_kv_block_"+family+`_seconds_count{model="off"`)
	}
}
