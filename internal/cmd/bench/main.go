// Command bench measures bare steps of a model, as llama-bench does: pp512 is one
// prompt of 512 tokens, tg128 is 128 tokens one after the other from an empty
// context (@dN: behind a context of N tokens), b8 is eight sequences that decode
// together. Each figure is the median of the repetitions after one warm-up.
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
//	bench -metrics [-r 3] [-json]
//	bench -profile -model P | -synth SHAPE:TYPE [-threads T] [-n 128] [-depth 0] [-json]
//	bench -resident all|NAME,… [-type Q8_0] [-threads T] [-json]
//	bench -model P | -synth SHAPE:TYPE [-o FILE] [-threads T] [-p 512] [-n 128] [-depth 0,1024] [-batch 1,8] [-r 3] [-json]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/internal/model/synth"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	model        string
	threads      int
	prompt       int
	generate     int
	depths       []int
	batches      []int
	repeat       int
	json         bool
	metrics      bool
	profile      bool
	synth, out   string
	resident     string
	child, typ   string
	depth, batch string
}

func run(args []string, w io.Writer) error {
	var c config
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&c.model, "model", "", "GGUF file")
	f.StringVar(&c.synth, "synth", "", "instead of a file: SHAPE:TYPE, random weights in a real shape (135m, 0.6b, 1.2b, 8b, or an architecture: qwen3moe, deepseek2, …; a wrong one lists all)")
	f.StringVar(&c.out, "o", "", "with -synth: keep the file here")
	f.IntVar(&c.threads, "threads", 0, "CPU workers (0: all cores)")
	f.IntVar(&c.prompt, "p", 512, "tokens of the prompt test (0: none)")
	f.IntVar(&c.generate, "n", 128, "tokens of the generation tests (0: none)")
	f.StringVar(&c.depth, "depth", "0", "context lengths before the tests, comma separated")
	f.StringVar(&c.batch, "batch", "1", "sequences that decode together, comma separated")
	f.IntVar(&c.repeat, "r", 3, "repetitions")
	f.BoolVar(&c.json, "json", false, "one JSON object a line")
	f.BoolVar(&c.metrics, "metrics", false, "measure what recording and scraping metrics cost; no model is used")
	f.BoolVar(&c.profile, "profile", false, "show where the time of a decode step and of prefill chunks goes, beside the floor")
	f.StringVar(&c.resident, "resident", "", "measure what stays in memory after Close, of shapes with a comma between, or of all golden ones")
	f.StringVar(&c.typ, "type", "Q8_0", "with -resident: the type of the files")
	f.StringVar(&c.child, "resident-child", "", "for -resident's own processes")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case c.child != "":
		return residentChild(c.child, c.threads, w)
	case c.resident != "":
		return measureResident(c.resident, c.typ, c.threads, func(v any) error { return c.print(w, v) }, w, c.json)
	}
	if c.metrics {
		return measureMetrics(c.repeat, func(v any) error { return c.print(w, v) })
	}
	var err error
	if c.depths, err = numbers("depth", c.depth, 0); err != nil {
		return err
	}
	if c.batches, err = numbers("batch", c.batch, 1); err != nil {
		return err
	}
	if (c.model == "") == (c.synth == "") {
		return errors.New("exactly one of -model and -synth is needed")
	}
	if c.repeat < 1 || c.prompt < 0 || c.generate < 0 {
		return errors.New("-r must be at least 1, -p and -n must not be negative")
	}
	if c.synth != "" {
		remove, err := c.synthesise()
		if err != nil {
			return err
		}
		defer remove()
	}
	if c.profile {
		return measureProfile(&c, func(v any) error { return c.print(w, v) })
	}
	return measure(&c, func(r row) error { return c.print(w, r) })
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
	f, err := os.Create(c.model)
	if err == nil {
		err = errors.Join(synth.Write(f, shape, typ, 1), f.Close())
	}
	if err != nil {
		remove()
	}
	return remove, err
}

// numbers reads a list of integers no less than least.
func numbers(name, list string, least int) ([]int, error) {
	var out []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return nil, fmt.Errorf("-%s has %q, must be numbers from %d, comma separated", name, s, least)
		}
		out = append(out, n)
	}
	return out, nil
}
