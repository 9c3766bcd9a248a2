package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/session"
)

// workload is what one model is measured with.
type workload struct {
	trial
	bytes   uint64 // least memory of the card that it is tried on
	prompt  int    // tokens
	depth   int    // tokens before the ones that are decoded
	decode  int    // tokens
	streams int
}

func (k *checker) workloads() []workload {
	if k.c.simulate {
		return []workload{{trial{"tiny-qwen3", "Q8_0"}, 0, 20, 3, 3, 4}}
	}
	return []workload{
		{trial{"0.6b", "Q8_0"}, 3 << 30, 512, 64, 128, 32},
		{trial{"1.2b", "BF16"}, 6 << 30, 512, 64, 128, 32},
		{trial{"1.2b", "Q4_K_M"}, 4 << 30, 512, 64, 128, 32},
		{trial{"8b", "Q4_K_M"}, 12 << 30, 512, 64, 128, 32},
		{trial{"8b", "Q8_0"}, 16 << 30, 512, 64, 64, 32},
	}
}

// bench measures the card's peaks, then what share of them the backend reaches.
func (k *checker) bench() error {
	if err := k.measurePeaks(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gpucheck")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dev, err := k.device()
	if err != nil {
		return err
	}
	for _, w := range k.workloads() {
		name := w.shape + " " + w.typ
		switch {
		case k.since() > k.c.budget:
			k.skip(name, "no time is left")
			continue
		case k.facts.Memory < w.bytes:
			k.skip(name, "the card's memory is too small")
			continue
		}
		err := k.benchModel(w, dev, filepath.Join(dir, "model.gguf"))
		if refusal(err) {
			k.skip(name, err.Error())
		} else if err != nil {
			k.fail(name, k.why(err))
		}
	}
	return nil
}

// promptRuns is how many prompts are timed together.
const promptRuns = 3

// benchModel measures one model, which it makes at path.
func (k *checker) benchModel(w workload, dev backend.Device, path string) (err error) {
	if err := writeModel(path, w.trial); err != nil {
		return err
	}
	began := time.Now()
	s, err := session.Open(path, dev, session.Limits{Seqs: w.streams, Context: max(w.prompt, w.depth+2*w.decode+1), Rows: max(512, w.streams), Logits: w.streams}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	name := w.shape + " " + w.typ
	k.measure(name+": loading", time.Since(began).Seconds(), "s")
	r := &timed{k: k, s: s, w: w}
	one, err := r.decode(1)
	if err != nil {
		return err
	}
	k.measure(name+": driver calls a decode step", one.calls, "calls")
	direct, err := r.pairs()
	if err != nil {
		return err
	}
	k.measure(name+": driver calls a step without a graph", direct.calls, "calls")
	bytes := float64(s.StepBytes(1, w.depth+w.decode/2))
	k.share(name+": decode", 1/one.wall, "tok/s", bytes/one.wall, k.peaks.copyBytes, "the copy bandwidth (aim: 80 %)")
	k.share(name+": the card's part of a step", one.busy*1e3, "ms", one.busy, one.wall, "the step")
	k.share(name+": the card reads", bytes/one.busy/1e9, "GB/s", bytes/one.busy, k.peaks.readBytes, "the read bandwidth")
	many, err := r.decode(w.streams)
	if err != nil {
		return err
	}
	k.measure(fmt.Sprintf("%s: %d streams together", name, w.streams), float64(w.streams)/many.wall, "tok/s")
	return k.benchPrompt(r, name, path)
}

// benchPrompt measures prompts, the first one not counted.
func (k *checker) benchPrompt(r *timed, name, path string) error {
	if err := r.prefill(); err != nil {
		return err
	}
	began := time.Now()
	for range promptRuns {
		if err := r.prefill(); err != nil {
			return err
		}
	}
	rate := float64(promptRuns*r.w.prompt) / time.Since(began).Seconds()
	n, err := products(path)
	if err != nil {
		return err
	}
	k.share(fmt.Sprintf("%s: prompts of %d", name, r.w.prompt), rate, "tok/s", 2*n*rate, k.peaks.bf16, "the bf16 rate (aim: 45 %, at least 30 %)")
	return nil
}

// onThread runs f where the card's context is current, for the meter's events.
func (k *checker) onThread(f func() driver.Result) error {
	d := k.driver
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	context, err := d.Retain(k.facts.Device)
	if err != nil {
		return err
	}
	if err = d.SetCurrent(context); err == nil {
		if r := f(); r != driver.Success {
			err = fmt.Errorf("the meter's own calls fail with %d", r)
		}
		err = errors.Join(err, d.SetCurrent(0))
	}
	return errors.Join(err, d.Release(k.facts.Device))
}
