// Command bench measures bare steps of a model, as llama-bench does: pp512 is one
// prompt of 512 tokens, tg128 is 128 tokens one after the other from an empty
// context (@dN: behind a context of N tokens), b8 is eight sequences that decode
// together. Each figure is the median of the repetitions after one warm-up.
//
// With -peer it runs another program in turn with itself, each in processes of their
// own, and prints ratios of pairs with their spread, peak memory, and which share of a
// plain read beside it decoding reached (what it must read ÷ its time). Pairs around
// which the machine's own speed changed are dropped and counted. A ratio above 1 says
// that this program is better, whatever the unit.
//
// With -serve it is the clients of one running server, or of two in turn; with -serve-cmd
// it starts them itself, again for each run.
//
// With -goals it measures the whole table of goals against llama.cpp's programs, within
// a given time, and prints it as Markdown.
//
// With -open it opens the model as any program does, generates one token and ends.
//
// With -metrics it measures what watching costs instead: recording a token and a
// finished request, with one and two goroutines, and the CPU time of a scrape.
//
// With -resident it makes a model of each golden architecture's shape, and has a process
// of its own open, use and close it: what is resident afterwards may be 5 % more than before.
//
// With -profile it shows where the time of a decode step and of prefill chunks of 32
// and 512 tokens goes, op by op, beside the least that the machine would take.
//
// With -load N an engine serves N clients at once, and what that leaves to the rest of
// the process is measured, with two processors of Go's to spare and with none: how
// long a scrape takes, and how old a token is when its reader has it.
//
//	bench -load 16 -model P | -synth SHAPE:TYPE [-threads T] [-p 512] [-n 128] [-json]
//	bench -model P | -synth SHAPE:TYPE [-o FILE] [-threads T] [-level L] [-p 512] [-n 128] [-depth 0,1024] [-batch 1,8] [-open] [-r 3] [-json]
//	bench … -peer CMD [-peer-kind bench|llama-bench] [-peer-fa both] [-pairs 5]
//	bench -serve URL[,URL2] | -serve-cmd CMD [-serve-cmd CMD2] [-serve-test load,ttft-warm] [-clients 16] [-pairs 5]
//	bench -goals FOLDER -peer-bin FOLDER[,avx2=FOLDER,…] [-goals-only decode,serve] [-goals-time 25m] [-pairs 3]
//	bench -metrics [-r 3] [-json]
//	bench -profile -model P | -synth SHAPE:TYPE [-threads T] [-n 128] [-depth 0] [-json]
//	bench -resident all|NAME,… [-type Q8_0] [-threads T] [-json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	c, err := parseFlags(args)
	if err != nil {
		return err
	}
	report := func(v any) error { return c.print(w, v) }
	switch {
	case c.peaksChild != 0:
		return peaksChild(c.workers(), c.peaksChild, os.Stdin, w)
	case c.child != "":
		return residentChild(c.child, c.threads, w)
	case c.resident != "":
		return measureResident(c.resident, c.typ, c.threads, report, w, c.json)
	case c.metrics:
		return measureMetrics(c.repeat, report)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if c.goals != "" {
		return measureGoals(ctx, c, w, os.Stderr)
	}
	if c.serve != "" || len(c.serveCommands) > 0 {
		return measureServe(ctx, c, report, w)
	}
	if (c.model == "") == (c.synth == "") {
		return errors.New("exactly one of -model and -synth is needed")
	}
	if c.synth != "" {
		remove, err := c.synthesise()
		if err != nil {
			return err
		}
		defer remove()
	}
	switch {
	case c.peer != "":
		return measurePeer(ctx, c, report, w)
	case c.open:
		return measureOpen(ctx, c, report)
	case c.profile:
		return measureProfile(c, report)
	case c.load > 0:
		return measureLoad(ctx, c, report)
	}
	return measure(c, func(r row) error { return c.print(w, r) })
}

// print writes one figure, as JSON or as a line for people.
func (c *config) print(w io.Writer, v any) error {
	if !c.json {
		_, err := fmt.Fprintln(w, v)
		return err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// synthesise writes the file that -synth names and points c.model at it.
func (c *config) synthesise() (remove func(), err error) {
	shape, typ, ok := strings.Cut(c.synth, ":")
	if !ok {
		return nil, fmt.Errorf("-synth is %q, must be SHAPE:TYPE", c.synth)
	}
	remove = func() {}
	c.model = c.out
	if c.out == "" {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			return nil, err
		}
		remove = func() { os.RemoveAll(dir) }
		c.model = filepath.Join(dir, "synth.gguf")
	}
	if err := writeSynth(c.model, shape, typ); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}
