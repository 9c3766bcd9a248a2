package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
)

// config is what the flags say.
type config struct {
	model    string
	threads  int
	level    string
	kv       string // "": the default
	kvType   backend.KVType
	prompt   int
	generate int
	depths   []int
	batches  []int
	open     bool
	repeat   int
	json     bool

	synth, out string

	metrics       bool
	profile       bool
	load          int
	resident, typ string

	peer        string
	peerKind    string
	peerBatched string
	peerFlash   string
	pairs       int
	steady      float64

	serve             string
	serveCommands     []string
	serveTest         string
	clients           int
	serveIn, serveOut int
	prefix, warmTimes int

	goals, goalsOnly   string
	goalsTime          time.Duration
	peerBin, serverBin string

	// Of processes that this program starts for itself.
	child      string
	peaksChild int64
}

func parseFlags(args []string) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&c.model, "model", "", "GGUF file")
	f.StringVar(&c.synth, "synth", "", "instead of a file: SHAPE:TYPE, random weights in a real shape (135m, 0.6b, 1.2b, 8b, or an architecture: qwen3moe, deepseek2, …; a wrong one lists all)")
	f.StringVar(&c.out, "o", "", "with -synth: keep the file here")
	f.IntVar(&c.threads, "threads", 0, "CPU workers (0: all cores)")
	f.StringVar(&c.level, "level", "", "instructions to use: portable, avx2, avx512vnni, … (none: the best; a wrong one lists those of this machine)")
	f.StringVar(&c.kv, "kv", "", "element type of the KV cache: f32, f16, bf16 or q8_0 (none: each side's own default)")
	f.IntVar(&c.prompt, "p", 512, "tokens of the prompt test (0: none)")
	f.IntVar(&c.generate, "n", 128, "tokens of the generation tests (0: none)")
	depths := f.String("depth", "0", "context lengths before the tests, comma separated")
	batches := f.String("batch", "1", "sequences that decode together, comma separated")
	f.BoolVar(&c.open, "open", false, "instead of those tests: open the model as a program does, generate one token, and end")
	f.IntVar(&c.repeat, "r", 3, "repetitions (with -peer: of each run of a pair)")
	f.BoolVar(&c.json, "json", false, "one JSON object a line")

	f.StringVar(&c.peer, "peer", "", "program, with its first arguments, to run in turn with this one")
	f.StringVar(&c.peerKind, "peer-kind", "bench", "how to ask -peer: bench (this program's flags and rows: another build) or llama-bench")
	f.StringVar(&c.peerBatched, "peer-batched", "", "with -peer-kind llama-bench, for -batch: llama-batched-bench (none: the one beside -peer)")
	f.StringVar(&c.peerFlash, "peer-fa", "", "with -peer-kind llama-bench: flash attention on, off, auto, or both, of which the better counts (none: its default)")
	f.IntVar(&c.pairs, "pairs", 5, "with -peer: how many pairs must count")
	f.Float64Var(&c.steady, "steady", 0.10, "with -peer: by which share the machine's peaks may differ around a pair that counts; others are dropped and counted")

	f.StringVar(&c.serve, "serve", "", "URL of a running server to be a client of, and after a comma of one to compare it with")
	f.Func("serve-cmd", "program that serves on port {port}, started for each run; a second and further ones are what it is compared with", func(s string) error {
		c.serveCommands = append(c.serveCommands, s)
		return nil
	})
	f.StringVar(&c.serveTest, "serve-test", "load", "what clients do: load (all ask at once), ttft-warm (prompts that share a prefix, one after the other), comma separated")
	f.IntVar(&c.clients, "clients", 16, "with -serve: clients of load")
	f.IntVar(&c.serveIn, "serve-in", 256, "with -serve: tokens of a prompt of load")
	f.IntVar(&c.serveOut, "serve-out", 64, "with -serve: tokens of an answer of load")
	f.IntVar(&c.prefix, "prefix", 1024, "with -serve: tokens of the prefix of ttft-warm")
	f.IntVar(&c.warmTimes, "warm-times", 5, "with -serve: answers of ttft-warm that are measured")

	f.StringVar(&c.goals, "goals", "", "folder for files and results of the whole table of goals, which is measured against -peer-bin and printed; a second run goes on where the first ended")
	f.StringVar(&c.goalsOnly, "goals-only", "", "with -goals: only these rows, comma separated, also where they are measured already: decode, prefill/1.2b, …")
	f.DurationVar(&c.goalsTime, "goals-time", 25*time.Minute, "with -goals: for all rows that are measured; a row that its share is too short for has fewer pairs, and one at least")
	f.StringVar(&c.peerBin, "peer-bin", "", "with -goals: folder of llama-bench, llama-batched-bench and llama-server, then of those built for a level, as FOLDER,avx2=FOLDER,avx512vnni=FOLDER")
	f.StringVar(&c.serverBin, "server", "", "with -goals: examples/server (none: it is built)")

	f.BoolVar(&c.metrics, "metrics", false, "measure what recording and scraping metrics cost; no model is used")
	f.BoolVar(&c.profile, "profile", false, "show where the time of a decode step and of prefill chunks goes, beside the floor")
	f.IntVar(&c.load, "load", 0, "instead of those tests: so many clients stream from an engine, while /metrics is scraped three times a second")
	f.StringVar(&c.resident, "resident", "", "measure what stays in memory after Close, of shapes with a comma between, or of all golden ones")
	f.StringVar(&c.typ, "type", "Q8_0", "with -resident: the type of the files")
	f.StringVar(&c.child, "resident-child", "", "for -resident's own processes")
	f.Int64Var(&c.peaksChild, "peaks-child", 0, "for -peer's own process")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if c.repeat < 1 || c.prompt < 0 || c.generate < 0 || c.load < 0 || c.pairs < 1 || !(c.steady >= 0) {
		return nil, errors.New("-r and -pairs must be at least 1, -p, -n, -load and -steady must not be negative")
	}
	if min(c.clients, c.serveIn, c.serveOut, c.prefix, c.warmTimes) < 1 {
		return nil, errors.New("-clients, -serve-in, -serve-out, -prefix and -warm-times must be at least 1")
	}
	if c.kv != "" {
		if err := c.kvType.UnmarshalText([]byte(c.kv)); err != nil {
			return nil, fmt.Errorf("-kv: %w", err)
		}
	}
	var err error
	if c.depths, err = numbers("depth", *depths, 0); err != nil {
		return nil, err
	}
	c.batches, err = numbers("batch", *batches, 1)
	return c, err
}

// workers is the number of workers that -threads stands for.
func (c *config) workers() int {
	d := cpu.New(cpu.Options{Threads: c.threads})
	defer d.Close()
	return d.Threads()
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
