package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestResident opens, uses and closes a decoder, one with experts and an encoder of
// about 100 million parameters each: what they took is free again.
func TestResident(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it takes half a minute, and Linux to tell what is resident")
	}
	var out bytes.Buffer
	if err := run([]string{"-resident", "llama_gqa_tied,granitemoe,bert", "-threads", "2", "-json"}, &out); err != nil {
		t.Error(err)
	}
	lines := 0
	for line := range strings.Lines(out.String()) {
		var r resident
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines++
		// While it is open its weights are there, or nothing was measured.
		if r.Open-r.Before < r.File/2 || r.Params < 90e6 || (r.Tokens != generated) != (r.Model == "bert") {
			t.Errorf("%+v", r)
		}
		t.Log(r)
	}
	if lines != 3 {
		t.Errorf("%d models, want 3", lines)
	}
}

// TestResidentVerdict asks that growth beyond the share fails.
func TestResidentVerdict(t *testing.T) {
	for ratio, bad := range map[float64]bool{0.9: false, 1.05: false, 1.051: true, 3: true} {
		if err := (resident{Ratio: ratio}).verdict(); (err != nil) != bad {
			t.Errorf("%v: %v", ratio, err)
		}
	}
}
