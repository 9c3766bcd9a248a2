package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/paddock-go/paddock/engine"
	"github.com/paddock-go/paddock/internal/model/synth"
	"github.com/paddock-go/paddock/metrics"
)

// resident is what a process holds around the life of an engine, in bytes. Before is
// after one life with a tiny model: its code is in memory then, which no Close frees.
type resident struct {
	Model  string  `json:"model"`
	Params int64   `json:"parameters"`
	File   int64   `json:"file"`
	Start  int64   `json:"start"`  // of a fresh process
	Before int64   `json:"before"` // Open
	Open   int64   `json:"open"`   // and warm, the answer given
	After  int64   `json:"after"`  // Close
	Ratio  float64 `json:"ratio"`  // After ÷ Before
	Tokens int     `json:"tokens"` // generated; 0: it embedded
}

func (r resident) String() string {
	mb := func(n int64) float64 { return float64(n) / 1e6 }
	return fmt.Sprintf("%-22s %6.1f M  %6.1f MB  %6.1f  %6.1f  %6.1f  %6.1f  %.3f", r.Model, float64(r.Params)/1e6, mb(r.File), mb(r.Start), mb(r.Before), mb(r.Open), mb(r.After), r.Ratio)
}

// verdict is an error for an engine that kept memory.
func (r resident) verdict() error {
	if r.Ratio <= 1+most {
		return nil
	}
	return fmt.Errorf("%s: %d bytes are resident after Close, %d were before Open: more than %v %% more", r.Model, r.After, r.Before, 100*most)
}

const residentHead = "model                  parameters     file   start  before    open   after  after÷before   (resident, MB)"

// most is the share of what was resident before Open by which it may grow.
const most = 0.05

// generated is how many tokens each model answers with.
const generated = 32

// measureResident makes a model of each golden shape, and has a process of its own
// open, use and close it. It fails for those that keep memory.
func measureResident(list, typ string, threads int, report func(any) error, out io.Writer, asJSON bool) error {
	names := synth.Golden()
	if list != "all" {
		names = strings.Split(list, ",")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "resident")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tiny, path := filepath.Join(dir, "tiny.gguf"), filepath.Join(dir, "model.gguf")
	if err := writeSynth(tiny, "tiny-llama", "Q8_0"); err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintln(out, residentHead)
	}
	var faults []error
	for _, name := range names {
		if err := writeSynth(path, name, typ); err != nil {
			return err
		}
		// An engine that keeps memory does so each time; what the runtime happens to
		// touch for the first time, half a megabyte, it does not.
		var r resident
		for try := 0; try < tries && (try == 0 || r.verdict() != nil); try++ {
			if r, err = startChild(self, tiny+","+path, threads); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			r.Model = name
		}
		if err := report(r); err != nil {
			return err
		}
		faults = append(faults, r.verdict())
	}
	return errors.Join(faults...)
}

// tries is how often a model that seems to stay is measured.
const tries = 3

// startChild is a measurement in a process of its own.
func startChild(self, paths string, threads int) (r resident, err error) {
	var answer, complaint bytes.Buffer
	child := exec.Command(self, "-resident-child", paths, "-threads", strconv.Itoa(threads))
	child.Stdout, child.Stderr = &answer, &complaint
	if err := child.Run(); err != nil {
		return r, fmt.Errorf("%w: %s", err, complaint.String())
	}
	return r, json.Unmarshal(answer.Bytes(), &r)
}

func writeSynth(path, shape, typ string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(synth.Write(f, shape, typ, 1), f.Close())
}

// residentChild is the process that opens a tiny model and then one to measure.
func residentChild(paths string, threads int, out io.Writer) error {
	tiny, path, _ := strings.Cut(paths, ",")
	var r resident
	var err error
	if r.Start, err = residentBytes(); err != nil {
		return err
	}
	if err := live(tiny, threads, &resident{}); err != nil {
		return err
	}
	if r.Before, err = residentBytes(); err != nil {
		return err
	}
	if err := live(path, threads, &r); err != nil {
		return err
	}
	if r.After, err = residentBytes(); err != nil {
		return err
	}
	r.Ratio = float64(r.After) / float64(r.Before)
	return json.NewEncoder(out).Encode(r)
}

// live is an engine's life: open, a prompt answered or embedded, closed.
func live(path string, threads int, r *resident) (err error) {
	e, err := engine.Open(path, engine.Options{Threads: threads, KVPages: 64, Metrics: metrics.NewRecorder(metrics.RecorderOptions{})})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	c := e.Model()
	r.Params, r.File = c.Params, c.File.Bytes
	tokens := make([]int32, 64)
	for i := range tokens {
		tokens[i] = int32(i * 7 % c.Vocab)
	}
	switch {
	case e.EmbeddingSize() > 0:
		var out engine.Embeddings
		if out, err = e.Embed(context.Background(), engine.EmbedRequest{Tokens: [][]int32{tokens}}); err == nil && len(out.Vectors) != 1 {
			err = fmt.Errorf("%d vectors for one text", len(out.Vectors))
		}
	default:
		var out engine.Result
		if out, err = e.Complete(context.Background(), engine.Request{Tokens: tokens, MaxTokens: generated, IgnoreEOS: true}); err == nil {
			r.Tokens = len(out.Choices[0].Tokens)
			if r.Tokens != generated {
				err = fmt.Errorf("%d tokens, want %d", r.Tokens, generated)
			}
		}
	}
	if err != nil {
		return err
	}
	r.Open, err = residentBytes()
	return err
}

// residentBytes is what the process holds, once what the collector can free is freed.
func residentBytes() (int64, error) {
	for range 2 { // what the first run finalises, the second frees
		runtime.GC()
	}
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("only Linux tells what is resident: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/self/status has no VmRSS")
}
