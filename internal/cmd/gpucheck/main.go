// Command gpucheck is what to run the first time a card is at hand: it needs an NVIDIA
// driver and nothing else, brings its own models, and is done in under four minutes.
//
//	CGO_ENABLED=0 go build ./internal/cmd/gpucheck && ./gpucheck
//
// In this order, since each rests on the one before:
//
//	card         what the driver says of it
//	fragments    which lane and register hold which element of the tensor-core
//	             instructions, as the card does it, against internal/backend/cuda/fragment,
//	             which the tests' interpreter and the kernels go by
//	kernels      what the driver makes of the backend's kernels: how long it compiles,
//	             registers, and who keeps values of a thread in memory for want of them
//	picks        the likeliest tokens of rows of logits, against a sort of the whole row
//	conformance  logits of synthesised models of each format, against the CPU's
//	kv           the same with the cache's other types
//	graphs       steps as graphs have the bits of steps launched kernel by kernel, and of
//	             steps whose roundings are kernels of their own
//	memory       the same again with fresh memory full of NaN and a guard before and
//	             behind every buffer, and what is left afterwards
//	bench        what the card can do at most, and what share of it decoding and prompts reach
//
// It prints a table, with -json one object a line, section by section as they end, and
// ends with status 1 if a check failed. -golden DIR also holds the backend against other engines' logits. -simulate
// runs everything on a driver made of an interpreter, with tiny sizes: it says nothing
// of a card, and its times are made up, but executes all of this program.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// config is what the flags say.
type config struct {
	simulate bool
	json     bool
	golden   string
	ordinal  int
	only     []string
	budget   time.Duration
}

// sections are the parts, in order.
var sections = []struct {
	name string
	run  func(*checker) error
	when runs
}{
	{"card", (*checker).describe, always},
	{"fragments", (*checker).fragments, usually},
	{"kernels", (*checker).compiled, usually},
	{"picks", (*checker).picks, usually},
	{"conformance", (*checker).conformance, usually},
	{"kv", (*checker).caches, usually},
	{"graphs", (*checker).graphs, usually},
	{"memory", (*checker).memory, usually},
	{"bench", (*checker).bench, usually},
}

// runs says when a section runs.
type runs uint8

const (
	always  runs = iota
	usually      // unless -only names others
)

func (c *config) wants(name string, when runs) bool {
	return when == always || slices.Contains(c.only, name) || when == usually && len(c.only) == 0
}

func parse(args []string, errs io.Writer) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
	f.SetOutput(errs)
	f.BoolVar(&c.simulate, "simulate", false, "run on an interpreter instead of a card")
	f.BoolVar(&c.json, "json", false, "print one JSON object a line")
	f.StringVar(&c.golden, "golden", "", "`folder` of golden models to hold the backend against too")
	f.IntVar(&c.ordinal, "device", 0, "number of the card")
	f.DurationVar(&c.budget, "budget", 220*time.Second, "begin no further section or benchmark after this time")
	only := f.String("only", "", "`sections` to run, with commas: fragments, kernels, picks, conformance, kv, graphs, memory, bench")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("gpucheck takes no arguments, got %q", f.Args())
	}
	if *only != "" {
		c.only = strings.Split(*only, ",")
		for _, name := range c.only {
			if !known(name) {
				return nil, fmt.Errorf("-only: there is no section %q", name)
			}
		}
	}
	return c, nil
}

func known(name string) bool {
	for _, s := range sections {
		if s.name == name {
			return true
		}
	}
	return false
}

// run is the program; its result is the exit status: 0 all is well, 1 a check failed,
// 2 it could not be run.
func run(args []string, out, errs io.Writer) int {
	c, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "gpucheck:", err)
		return 2
	}
	k, err := open(c)
	if err != nil {
		fmt.Fprintln(errs, "gpucheck:", err)
		return 2
	}
	if !c.simulate {
		hung := time.AfterFunc(2*c.budget, func() {
			k.stuck(out)
			os.Exit(1)
		})
		defer hung.Stop()
	}
	for _, s := range sections {
		if !c.wants(s.name, s.when) {
			continue
		}
		k.enter(s.name)
		began := k.since()
		if began > c.budget {
			k.skip(s.name, "no time is left")
			continue
		}
		if err := s.run(k); err != nil {
			k.fail(s.name+" ended early", k.why(err))
		}
		k.measure("time of "+s.name, (k.since() - began).Seconds(), "s")
		if err := k.show(out, c.json); err != nil {
			fmt.Fprintln(errs, "gpucheck:", err)
			return 2
		}
	}
	k.enter("end")
	if err := k.close(); err != nil {
		k.fail("giving all back", err.Error())
	}
	if err := k.print(out, c.json); err != nil {
		fmt.Fprintln(errs, "gpucheck:", err)
		return 2
	}
	if k.failed() > 0 {
		return 1
	}
	return 0
}
