package main

import (
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/datadriven"
)

// TestOutput compares what the program prints with testdata/output.txt; -rewrite records it anew.
func TestOutput(t *testing.T) {
	datadriven.Run(t, "testdata/output.txt", func(t *testing.T, c *datadriven.Command) string {
		var b strings.Builder
		if err := run(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}
