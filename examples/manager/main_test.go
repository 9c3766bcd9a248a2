package main

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	checks := "40"
	if testing.Short() {
		checks = "10"
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if f := flag.Lookup("rapid.checks"); f != nil && !given {
		if err := f.Value.Set(checks); err != nil {
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}
