package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// How attention is cut, see ptx/attend.cuh.
const (
	attendThreads = 128
	attendSpan    = 128       // keys of the shortest span
	attendSpans   = 64        // most spans of a row
	attendFew     = 4         // rows of a sequence up to which each row's spans have blocks of their own
	attendTile    = 64        // slots of a block of tensor cores
	attendScratch = 256 << 20 // bytes of partial results for which attendFew is given up
)

// attendShape is a kernel's shape: for heads of up to dim values, lanes a key and slots
// a block.
type attendShape struct {
	dim   int
	lanes int
	few   []int // slots of attend_few's variants
	many  int   // slots of attend_many

	// The kernel of tensor cores for caches of 16-bit types; 0: none.
	tile int // values of a head
	keys int // of a tile
}

var attendShapes = []attendShape{
	{16, 2, []int{1}, 8, 64, 64},
	{64, 8, []int{1, 4, 8}, 8, 64, 64},
	{128, 16, []int{1, 4, 8}, 8, 128, 64},
	{256, 32, []int{1, 4}, 4, 256, 32},
	{768, 96, []int{2}, 2, 0, 0},
}

// attend is prog.Attend.
type attend struct {
	*rig
	prog.Attend
	shape     attendShape
	kv        string // type of the cache
	group     int    // query heads of a head of keys
	few       int    // sequences of up to so many rows are cut into spans
	spans     int    // most spans of a row
	partial   address
	tops      address
	valueDim  int
	valuePart kvPart
	valueStep int
}

func compileAttend(r *rig, o prog.Attend) (op, error) {
	x := &attend{rig: r, Attend: o, group: o.Heads / o.KVHeads, few: attendFew, valueDim: r.prog.KV[o.KV].ValueDim}
	var err error
	if x.kv, err = r.kvName(o, o.KV); err != nil {
		return nil, err
	}
	most := max(o.HeadDim, x.valueDim)
	for _, s := range attendShapes {
		if x.shape = s; most <= s.dim {
			break
		}
	}
	if most > x.shape.dim || o.HeadDim%8 != 0 || x.valueDim%8 != 0 {
		return nil, unsupported(o, "head size", fmt.Sprintf("%d with values of %d (multiples of 8 up to %d are)", o.HeadDim, x.valueDim, x.shape.dim))
	}
	x.valuePart, x.valueStep = r.valuesOf(o.KV)
	x.spans = min(attendSpans, x.spansOf(r.limits.Context))
	each := backend.Product(int64(r.limits.Seqs), int64(o.Heads), int64(x.spans), int64(x.valueDim+2), 4)
	if backend.Product(attendFew, each) > attendScratch {
		x.few = 1
	}
	if x.spans > 1 {
		slots := int64(r.limits.Seqs) * int64(x.few) * int64(o.Heads) * int64(x.spans)
		x.partial = r.scratch(backend.Product(slots, int64(x.valueDim+2), 4))
		x.tops = x.partial + address(backend.Product(slots, int64(x.valueDim), 4))
	}
	return x, nil
}

// spansOf is the most spans that a row of a sequence of so many keys sees, if spans are
// of the shortest.
func (o *attend) spansOf(ctx int) int {
	n := int(ceilDiv(ctx, attendSpan))
	if o.Window > 0 && o.Window < ctx {
		n = min(n, int(ceilDiv(o.Window+1, attendSpan))+1)
	}
	return n
}

func (o *attend) launches(b bucket) []launch {
	list := o.fewRows(b)
	if !b.decode {
		list = append(list, o.manyRows(b))
	}
	return list
}

// fewRows attends for the rows of sequences that have few in the step.
func (o *attend) fewRows(b bucket) []launch {
	slots := o.shape.few[0]
	for _, n := range o.shape.few {
		if slots = n; n >= o.group {
			break
		}
	}
	rows := b.seqs
	if !b.decode {
		rows *= o.few
	}
	heads := min(o.group, slots)
	spans := uint32(min(o.spans, o.spansOf(b.ctx)))
	list := []launch{{
		kernel: fmt.Sprintf("attend_%s_few_%dx%d", o.kv, o.shape.lanes, slots),
		grid:   dims{uint32(rows), uint32(o.KVHeads) * ceilDiv(o.group, heads), spans},
		block:  dims{attendThreads, 1, 1},
		args:   o.arguments(heads, b.seqs),
	}}
	if spans == 1 {
		return list
	}
	var a args
	a.at(o.step)
	a.at(o.buf(o.Out))
	a.at(o.partial)
	a.at(o.tops)
	a.at(o.vector(o.Sinks))
	a.i32(o.Heads)
	a.i32(o.valueDim)
	a.i32(o.Window)
	a.i32(flag(o.Both))
	a.i32(o.spans)
	a.i32(o.few)
	a.i32(b.seqs)
	return append(list, launch{kernel: "attend_join", grid: dims{uint32(rows), uint32(o.Heads), 1}, block: dims{attendThreads, 1, 1}, args: a})
}

// manyRows attends for the rows of the others.
func (o *attend) manyRows(b bucket) launch {
	slots, kernel, shared := o.shape.many, fmt.Sprintf("attend_%s_many_%dx%d", o.kv, o.shape.lanes, o.shape.many), 0
	if o.kv != kvNames[quant.F32] && o.shape.tile > 0 {
		slots, kernel, shared = attendTile, fmt.Sprintf("attend_%s_tiles_%d", o.kv, o.shape.tile), o.tileBytes()
	}
	heads := min(o.group, slots)
	return launch{
		kernel: kernel,
		grid:   dims{ceilDiv(b.rows, slots/heads), uint32(o.KVHeads) * ceilDiv(o.group, heads), 1},
		block:  dims{attendThreads, 1, 1},
		shared: uint32(shared),
		args:   o.arguments(heads, b.seqs),
	}
}

// tileBytes is the shared memory of a block of tensor cores: a tile of keys, one of
// values, and queries in two terms where registers do not hold them.
func (o *attend) tileBytes() int {
	row, rows := 2*(o.shape.tile+8), 2*o.shape.keys+1
	if o.shape.tile > 64 {
		rows = 2*o.shape.keys + 2*attendTile
	}
	return rows * row
}

// arguments are those of attend_few and attend_many, whose slots of a row are heads.
func (o *attend) arguments(heads, seqs int) args {
	keys := o.layers[o.KV].keys
	var a args
	a.at(o.step)
	a.at(o.buf(o.Q))
	a.at(o.buf(o.Out))
	a.at(o.partial)
	a.at(o.tops)
	a.at(keys.at)
	a.at(o.valuePart.at)
	a.at(o.vector(o.Sinks))
	a.i64(keys.stride)
	a.i64(o.valuePart.stride)
	a.i32(o.Heads)
	a.i32(o.KVHeads)
	a.i32(o.HeadDim)
	a.i32(o.valueDim)
	a.i32(o.valueStep)
	a.f32(o.Scale)
	a.f32(o.Cap)
	a.i32(o.Window)
	a.i32(flag(o.Both))
	a.i32(o.limits.PageSize)
	a.i32(o.spans)
	a.i32(o.few)
	a.i32(seqs)
	a.i32(heads)
	return a
}

// flag is a bool as a kernel has it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
