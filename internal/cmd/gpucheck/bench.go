package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/gguf"
	"github.com/paddock-go/paddock/internal/model/synth"
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
	dev, err := k.device()
	if err != nil {
		return err
	}
	pace := firstPace
	for _, w := range k.workloads() {
		name := w.shape + " " + w.typ
		f, err := synth.Open(w.shape, w.typ, 1)
		if err != nil {
			return err
		}
		size := float64(f.Size())
		left, wants := k.c.budget-k.since(), time.Duration((modelSeconds+size*pace)*float64(time.Second))
		switch {
		case wants > left:
			k.skip(name, fmt.Sprintf("it would take about %.0f s, %.0f s are left", wants.Seconds(), left.Seconds()))
			continue
		case k.facts.Memory < w.bytes:
			k.skip(name, "the card's memory is too small")
			continue
		}
		began := time.Now()
		err = errors.Join(k.benchModel(w, dev, f), f.Close())
		pace = max(firstPace/4, (time.Since(began).Seconds()-modelSeconds)/size)
		if refusal(err) {
			k.skip(name, err.Error())
		} else if err != nil {
			k.fail(name, k.why(err))
		}
	}
	return nil
}

// What a model is expected to take before one was measured: bytes made, packed and sent
// by some cores of the host, and all its steps.
const (
	modelSeconds = 2.0
	firstPace    = 4e-9 // seconds a byte
)

// nodeSeconds is what a small kernel of a graph takes at least, as an assumption.
const nodeSeconds = 2e-6

// promptRuns is how many prompts are timed together.
const promptRuns = 3

// benchModel measures one model.
func (k *checker) benchModel(w workload, dev backend.Device, f *gguf.File) (err error) {
	began := time.Now()
	s, err := session.OpenFile(f, dev, session.Limits{Seqs: w.streams, Context: max(w.prompt, w.depth+2*w.decode+1), Rows: max(512, w.streams), Logits: w.streams}, nil)
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
	aim := ""
	if w.shape == "8b" { // of the others launches take as long as reading, and more
		aim = " (aim: 80 %)"
	}
	k.share(name+": decode", 1/one.wall, "tok/s", bytes/one.wall, k.peaks.copyBytes, "the copy bandwidth"+aim)
	k.expect(name, one.nodes, bytes)
	k.share(name+": the card's part of a step", one.busy*1e3, "ms", one.busy, one.wall, "the step")
	k.share(name+": the card reads", bytes/one.busy/1e9, "GB/s", bytes/one.busy, k.peaks.readBytes, "the read bandwidth")
	many, err := r.decode(w.streams)
	if err != nil {
		return err
	}
	k.measure(fmt.Sprintf("%s: %d streams together", name, w.streams), float64(w.streams)/many.wall, "tok/s")
	return k.benchPrompt(r, name, f)
}

// expect says what one stream could have at most: by the bytes of a step, and by its
// kernels, each of which takes some time however little it does.
func (k *checker) expect(name string, nodes int, bytes float64) {
	k.measure(name+": kernels of a decode step", float64(nodes), fmt.Sprintf("kernels, %.2f ms at %.0f µs each (an assumption)", float64(nodes)*nodeSeconds*1e3, nodeSeconds*1e6))
	if k.peaks.copyBytes > 0 {
		k.measure(name+": a decode step's bytes", bytes/k.peaks.copyBytes*1e3, fmt.Sprintf("ms at the copy bandwidth, %.4g tok/s with the kernels' time added", 1/(bytes/k.peaks.copyBytes+float64(nodes)*nodeSeconds)))
	}
}

// benchPrompt measures prompts, the first one not counted.
func (k *checker) benchPrompt(r *timed, name string, f *gguf.File) error {
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
	n, err := products(f)
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
