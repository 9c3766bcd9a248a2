package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// Recording allocates nothing, whatever it costs otherwise, and every page is
// there.
func TestMeasureMetrics(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-metrics", "-r", "1", "-json"}, &out); err != nil {
		t.Fatal(err)
	}
	var records, pages int
	for line := range strings.Lines(out.String()) {
		var c cost
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case c.Goroutines > 0:
			records++
			if c.Allocs > 0.1 { // one a call would be 1; what the runtime allocates meanwhile is spread over many calls
				t.Errorf("%s with %d goroutines: %v allocations", c.Test, c.Goroutines, c.Allocs)
			}
		default:
			pages++
			if c.Bytes == 0 {
				t.Errorf("%s: the page is empty", c.Test)
			}
		}
	}
	if records != 6 || pages != 4 {
		t.Errorf("%d kinds of recording and %d pages, want 6 and 4", records, pages)
	}
}
