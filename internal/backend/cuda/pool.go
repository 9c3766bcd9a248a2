package cuda

import (
	"github.com/paddock-go/paddock/internal/prog"
)

// poolThreads is the block of the kernels of states and pools: a value a thread.
const poolThreads = 256

// poolKept is pool's kind for the mean from sums that were kept.
const poolKept = 3

// states is a layer of the cache that keeps width values of a token.
func (r *rig) states(layer int) kvPart { return r.layers[layer].values }

// byColumns is a launch of a kernel that has a block for each row, or sequence, and
// piece of its width.
func byColumns(kernel string, rows, width int, a args) launch {
	return launch{kernel: kernel, grid: dims{uint32(rows), ceilDiv(width, poolThreads), 1}, block: dims{poolThreads, 1, 1}, args: a}
}

// pool is prog.Pool.
type pool struct {
	*rig
	prog.Pool
}

func compilePool(r *rig, o prog.Pool) (op, error) { return &pool{r, o}, nil }

func (o *pool) launches(b bucket) []launch {
	var list []launch
	width, kind := o.width(o.In), int(o.Pool.Pool)
	var part kvPart
	if o.KV >= 0 {
		part, kind = o.states(o.KV), poolKept
		var a args
		a.at(o.step)
		a.at(o.buf(o.In))
		a.at(part.at)
		a.i64(part.stride)
		a.i32(width)
		a.i32(o.limits.PageSize)
		list = append(list, byColumns("pool_sums", b.seqs, width, a))
	}
	if b.logits == 0 {
		return list
	}
	var a args
	a.at(o.step)
	a.at(o.buf(o.Out))
	a.at(o.buf(o.In))
	a.at(part.at)
	a.i64(part.stride)
	a.i32(kind)
	a.i32(width)
	a.i32(o.limits.PageSize)
	return append(list, byColumns("pool", b.logits, width, a))
}
