package main

import (
	"errors"
	"fmt"

	"github.com/paddock-go/paddock/internal/backend/cuda"
)

// graphs holds steps that are launched as graphs against the same launched kernel by
// kernel, and those against steps whose roundings are kernels of their own: not a bit
// may be another.
func (k *checker) graphs() (err error) {
	with, err := k.device()
	if err != nil {
		return err
	}
	o := cuda.Options{Driver: k.driver, Ordinal: k.c.ordinal, NoGraphs: true}
	without, err := cuda.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, without.Close()) }()
	o.Unfused = true
	unfused, err := cuda.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unfused.Close()) }()
	for _, t := range k.guarded() {
		k.graph(t, with, without, unfused)
	}
	return nil
}

// graph compares one model, and looks that the first run did launch graphs and the
// others none.
func (k *checker) graph(t trial, with, without, unfused *cuda.Device) {
	name := "graphs of " + t.shape + " " + t.typ
	file, err := modelFile(t.shape, t.typ)
	if err != nil {
		k.fail(name, err.Error())
		return
	}
	var runs [3]*record
	var launched [3]int
	for i, d := range []*cuda.Device{with, without, unfused} {
		if runs[i], launched[i], err = k.counted(file, d); err != nil {
			if refusal(err) {
				k.skip(name, err.Error())
			} else {
				k.fail(name, k.why(err))
			}
			return
		}
	}
	switch {
	case launched[0] == 0 || launched[1]+launched[2] != 0:
		k.fail(name, fmt.Sprintf("%d graphs were launched with graphs, %d without: nothing was compared", launched[0], launched[1]+launched[2]))
	case !runs[0].same(runs[1]):
		k.fail(name, "a graph has other bits than its kernels launched one by one")
	case !runs[1].same(runs[2]):
		k.fail(name, "a kernel that rounds what it makes has other bits than two kernels, one for each")
	default:
		k.pass(name, fmt.Sprintf("%d launches of graphs changed no bit, nor did roundings on their own", launched[0]))
	}
}

// counted plays the script and counts the graphs that are launched.
func (k *checker) counted(file []byte, d *cuda.Device) (_ *record, graphs int, err error) {
	p := k.script()
	s, err := openModel(file, d, p.limits())
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, before := &record{}, k.meter.graphs
	err = p.play(s, r.see)
	return r, k.meter.graphs - before, err
}
