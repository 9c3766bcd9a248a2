package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/model/synth"
)

// Tolerances of a logit, as a share of the step's largest. A card sums in another order
// than the CPU. Where a value is then rounded (keys and values to 16 bits, activations
// of quantised and BF16 weights to 8), that may turn one over, which shows in all that
// follows. So no step may be far off, and of a tiny model one step at least, in which
// none turned over, must be near. A fault of a kernel shows as 0.1 and more.
const (
	nearTolerance    = 1e-4
	cacheTolerance   = 2e-3 // only keys and values are rounded
	roundedTolerance = 3e-2
)

// trial is a model that is compared.
type trial struct{ shape, typ string }

// trials are all types on one tiny shape, some on the others, and on a card the shapes
// of the golden models, 100 million values each.
func (k *checker) trials() []trial {
	if k.c.simulate {
		return []trial{{"tiny-qwen3", "Q8_0"}}
	}
	var out []trial
	for _, typ := range []string{"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K_M", "Q6_K"} {
		out = append(out, trial{"tiny-llama", typ})
	}
	for _, shape := range []string{"tiny-qwen2", "tiny-qwen3"} {
		out = append(out, trial{shape, "Q8_0"}, trial{shape, "Q4_K_M"}, trial{shape, "BF16"})
	}
	for _, shape := range synth.Golden() {
		out = append(out, trial{shape, "Q8_0"})
	}
	return out
}

// conformanceTime is how long the comparisons may take; what is left then is skipped
// and said so.
const conformanceTime = 75 * time.Second

func (k *checker) script() *script {
	if k.c.simulate {
		return &script{prompts: []int{1, 7}, decode: 2}
	}
	return &script{prompts: []int{1, 7, 33, 200}, split: 130, decode: 8}
}

// conformance compares logits with the CPU's.
func (k *checker) conformance() error {
	host := cpu.New(cpu.Options{})
	defer host.Close()
	d, err := k.device()
	if err != nil {
		return err
	}
	if err := k.compile(d); err != nil {
		return err
	}
	end := time.Now().Add(conformanceTime)
	left := 0
	for _, t := range k.trials() {
		if time.Now().After(end) {
			left++
			continue
		}
		k.try(t.shape+" "+t.typ, t, k.script(), host, d)
	}
	if left > 0 {
		k.skip("more models", fmt.Sprintf("%d, for want of time", left))
	}
	if k.c.golden != "" {
		k.goldens(d)
	}
	return nil
}

// compile loads a first model, and with it the kernels.
func (k *checker) compile(d backend.Device) error {
	file, err := modelFile("tiny-llama", "Q8_0")
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := k.recordOf(file, d, &script{prompts: []int{1}}); err != nil {
		return err
	}
	k.measure("a first step, with compiling the kernels", time.Since(began).Seconds(), "s")
	return nil
}

// try compares one model.
func (k *checker) try(name string, t trial, p *script, host, d backend.Device) {
	file, err := modelFile(t.shape, t.typ)
	if err != nil {
		k.fail(name, k.why(err))
		return
	}
	got, err := k.recordOf(file, d, p)
	if refusal(err) {
		k.skip(name, err.Error())
		return
	}
	if err != nil {
		k.fail(name, k.why(err))
		return
	}
	want, err := k.recordOf(file, host, p)
	if err != nil {
		k.fail(name, k.why(err))
		return
	}
	off := want.compare(got)
	far, near := roundedTolerance, math.Inf(1)
	if strings.HasPrefix(t.shape, "tiny") {
		near = nearTolerance
	}
	if (t.typ == "F32" || t.typ == "F16") && p.kv != backend.KVBF16 {
		far = cacheTolerance
	}
	text := fmt.Sprintf("off by at most %.2g of the largest logit (%s), at least %.2g", off.most, off.step, off.least)
	if off.most > far || off.least > near {
		k.fail(name, text)
		return
	}
	k.pass(name, text)
}

// refusal tells whether the backend does not run a model at all, and says so.
func refusal(err error) bool {
	var u *cuda.UnsupportedError
	return errors.As(err, &u)
}

// recordOf plays a script with a model on a device.
func (k *checker) recordOf(file []byte, d backend.Device, p *script) (*record, error) {
	s, err := openModel(file, d, p.limits())
	if err != nil {
		return nil, err
	}
	r := &record{}
	err = p.play(s, r.see)
	return r, errors.Join(err, s.Close())
}
