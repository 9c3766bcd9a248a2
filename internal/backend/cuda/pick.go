package cuda

import (
	"unsafe"

	"github.com/paddock-go/paddock/internal/backend"
)

// What the kernels of ptx/sample.cu are made for.
const (
	pickThreads = 256
	pickSlice   = 2048 // tokens of a block
	sliceBytes  = 16
	pickBytes   = int64(unsafe.Sizeof(backend.Pick{}))
)

// backend.Pick is the kernels' Pick: a difference does not compile.
var _ = [1]struct{}{}[backend.PickTokens-64]
var _ = [1]struct{}{}[unsafe.Sizeof(backend.Pick{})-528]
var _ = [1]struct{}{}[unsafe.Offsetof(backend.Pick{}.Count)-4]
var _ = [1]struct{}{}[unsafe.Offsetof(backend.Pick{}.Rest)-8]
var _ = [1]struct{}{}[unsafe.Offsetof(backend.Pick{}.Logits)-16]
var _ = [1]struct{}{}[unsafe.Offsetof(backend.Pick{}.Tokens)-272]

// picker finds the likeliest tokens of the step's logits, behind all ops of the
// program, in the steps that ask for them.
type picker struct {
	*rig
	slices int     // of a row
	best   address // [rows][slices][64] places
	each   address // [rows][slices] of sliceBytes
}

func newPicker(r *rig) *picker {
	p := &picker{rig: r, slices: int(ceilDiv(r.prog.Vocab, pickSlice))}
	rows := int64(r.limits.LogitRows)
	best := backend.Product(rows, int64(p.slices), backend.PickTokens, 8)
	p.best = r.scratch(backend.Sum(best, backend.Product(rows, int64(p.slices), sliceBytes)))
	p.each = p.best + address(best)
	r.picks = r.own(backend.Product(rows, pickBytes))
	return p
}

func (p *picker) launches(b bucket) []launch {
	if !b.pick || b.logits == 0 {
		return nil
	}
	var slices, rows args
	slices.at(p.step)
	slices.at(p.logits)
	slices.at(p.best)
	slices.at(p.each)
	slices.i32(p.prog.Vocab)
	rows.at(p.step)
	rows.at(p.rig.picks)
	rows.at(p.best)
	rows.at(p.each)
	rows.i32(p.slices)
	return []launch{
		{kernel: "pick_slices", grid: dims{uint32(p.slices), uint32(b.logits), 1}, block: dims{pickThreads, 1, 1}, args: slices},
		{kernel: "pick_rows", grid: dims{uint32(b.logits), 1, 1}, block: dims{pickThreads, 1, 1}, args: rows},
	}
}
