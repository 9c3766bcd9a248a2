package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/backend/cuda"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// memory looks after what the backend does with the card's memory.
func (k *checker) memory() (err error) {
	var g *guards
	d, err := k.another(func(l driver.Library) driver.Library { g = newGuards(l); return g })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := k.planted(d, g); err != nil {
		return err
	}
	with, err := cuda.Open(cuda.Options{Driver: d, Ordinal: k.c.ordinal, Apart: true, Rubbish: cuda.NaNs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.Close()) }()
	for _, t := range k.guarded() {
		if err := k.guard(t, with, g); err != nil {
			return err
		}
	}
	return k.leaks()
}

// planted holds the guards themselves against a kernel of ours that writes beyond its
// memory: they must see it.
func (k *checker) planted(d *driver.Driver, g *guards) error {
	const bytes = 64 << 10
	plain := k.driver
	k.driver = d
	err := k.bare(func(b *bare) error {
		from, err := b.alloc(bytes + 1024*16)
		if err != nil {
			return err
		}
		to, err := b.alloc(bytes)
		if err != nil {
			return err
		}
		if err := b.launch("peak", "peak_copy", 4, 256, to, from, int64(bytes/16+1024)); err != nil {
			return err
		}
		return b.calls.Wait(b.stream)
	})
	k.driver = plain
	if torn, _, _ := g.report(); len(torn) == 0 {
		k.fail("a planted write beyond a buffer", "was not seen")
	} else {
		k.pass("a planted write beyond a buffer", "was seen: "+strings.Join(torn, "; "))
	}
	return err
}

// guarded are the models that run among guards.
func (k *checker) guarded() []trial {
	if k.c.simulate {
		return []trial{{"tiny-llama", "Q8_0"}}
	}
	return []trial{{"tiny-llama", "Q8_0"}, {"tiny-llama", "Q4_K_M"}, {"tiny-llama", "BF16"}, {"qwen3", "Q4_0"}, {"qwen3moe", "Q8_0"}}
}

// guard runs a model with every buffer between guards and full of NaN at first: no
// guard may be touched, and no bit be another than without.
func (k *checker) guard(t trial, with *cuda.Device, g *guards) error {
	name := "guards around " + t.shape + " " + t.typ
	file, err := modelFile(t.shape, t.typ)
	if err != nil {
		return err
	}
	without, err := k.device()
	if err != nil {
		return err
	}
	var runs [2]*record
	for i, dev := range []*cuda.Device{without, with} {
		runs[i], err = k.recordOf(file, dev, k.script())
		if refusal(err) {
			k.skip(name, err.Error())
			return nil
		}
		if err != nil {
			k.fail(name, k.why(err))
			return nil
		}
	}
	torn, most, out := g.report()
	switch {
	case len(torn) > 0:
		k.fail(name, "written to: "+strings.Join(torn, "; "))
	case out > 0:
		k.fail(name, fmt.Sprintf("%d bytes were not given back", out))
	case most == 0:
		k.fail(name, "no memory was taken: nothing was checked")
	case !runs[0].same(runs[1]):
		k.fail(name, "memory that is full of NaN at first changes the logits: something is read before it is written")
	default:
		k.pass(name, fmt.Sprintf("untouched, %.1f MiB of NaN changed no bit", float64(most)/(1<<20)))
	}
	return nil
}

// leaks opens, uses and closes a model three times: after the first, which may leave
// what the driver keeps for itself, no more may be missing.
func (k *checker) leaks() error {
	file, err := modelFile("tiny-llama", "Q8_0")
	if err != nil {
		return err
	}
	dev, err := k.device()
	if err != nil {
		return err
	}
	var free [3]int64
	for i := range free {
		if _, err := k.recordOf(file, dev, &script{prompts: []int{7}}); err != nil {
			k.fail("free memory after closing", k.why(err))
			return nil
		}
		var known bool
		if free[i], known = dev.Memory(); !known {
			return errors.New("the driver does not say how much memory is free")
		}
	}
	complaint := ""
	if free[2] < free[1] {
		complaint = fmt.Sprintf("%d bytes after the second time, %d after the third, unless another process took them", free[1], free[2])
	}
	k.judge("free memory after closing", complaint, fmt.Sprintf("%d bytes each time", free[2]))
	return nil
}
