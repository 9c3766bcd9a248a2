package main

import (
	"fmt"
	"time"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu"
	"github.com/paddock-go/paddock/internal/model/synth"
)

// cachesTime is how long the comparisons of other caches may take.
const cachesTime = 20 * time.Second

// cached are the models that are compared with other caches than of F16: all sizes of
// heads that synthesised shapes have, with weights that round little.
func (k *checker) cached() []trial {
	if k.c.simulate {
		return []trial{{"tiny-llama", "F16"}}
	}
	out := []trial{{"tiny-llama", "F16"}, {"tiny-qwen2", "F16"}, {"tiny-qwen3", "F16"}}
	for _, shape := range synth.Golden() {
		out = append(out, trial{shape, "Q8_0"})
	}
	return out
}

// caches compares logits with the CPU's where keys and values are of other types: their
// attention, by rows and by tiles, and what writes them are kernels of their own.
func (k *checker) caches() error {
	host := cpu.New(cpu.Options{})
	defer host.Close()
	d, err := k.device()
	if err != nil {
		return err
	}
	end := time.Now().Add(cachesTime)
	left := 0
	for _, t := range k.cached() {
		for _, kv := range []backend.KVType{backend.KVF32, backend.KVBF16} {
			if time.Now().After(end) {
				left++
				continue
			}
			p := k.script()
			p.kv = kv
			k.try(fmt.Sprintf("%s %s, cache of %v", t.shape, t.typ, kv), t, p, host, d)
		}
	}
	if left > 0 {
		k.skip("more caches", fmt.Sprintf("%d, for want of time", left))
	}
	return nil
}
