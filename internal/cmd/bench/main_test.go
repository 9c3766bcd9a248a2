package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain is also the processes that this program starts, and fakes of those that it
// is held against: the test's own program.
func TestMain(m *testing.M) {
	var child func([]string, io.Writer) error
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == "fake-server":
		child = fakeServing
	case len(args) > 0 && strings.HasPrefix(args[0], "fake-"):
		child = fakePeer
	case slices.Contains(args, "-resident-child") || slices.Contains(args, "-peaks-child"):
		child = run
	default:
		os.Exit(m.Run())
	}
	if err := child(os.Args[1:], os.Stdout); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}
