package cuda

import "github.com/paddock-go/paddock/internal/prog"

// actThreads is the block of the kernels that work value by value.
const actThreads = 256

// perValue is a launch of one of a pair of kernels that work value by value: NAME_4
// takes four values a thread, NAME_1 one, for widths that are no multiple of four.
func (r *rig) perValue(name string, id prog.BufID, b bucket, a args) launch {
	each, kernel := 4, name+"_4"
	if r.width(id)%4 != 0 {
		each, kernel = 1, name+"_1"
	}
	blocks := ceilDiv(r.rows(id, b)*r.width(id), each*actThreads)
	return launch{kernel: kernel, grid: dims{blocks, 1, 1}, block: dims{actThreads, 1, 1}, args: a}
}

// perRow is a launch of a kernel that has a block for each row of a buffer.
func (r *rig) perRow(kernel string, id prog.BufID, b bucket, threads int, a args) launch {
	return launch{kernel: kernel, grid: dims{uint32(r.rows(id, b)), 1, 1}, block: dims{uint32(threads), 1, 1}, args: a}
}

// addTo is prog.AddTo.
type addTo struct {
	*rig
	prog.AddTo
}

func compileAddTo(r *rig, o prog.AddTo) (op, error) { return &addTo{r, o}, nil }

func (o *addTo) launches(b bucket) []launch {
	var a args
	a.at(o.step)
	a.at(o.buf(o.Dst))
	a.at(o.buf(o.Src))
	a.f32(o.Scale)
	a.i32(o.width(o.Dst))
	a.i32(o.ofLogits(o.Dst))
	return []launch{o.perValue("add_to", o.Dst, b, a)}
}

// gate is prog.GateMul, and prog.Activate, which has no Up.
type gate struct {
	*rig
	prog.GateMul
}

func compileGateMul(r *rig, o prog.GateMul) (op, error) {
	if o.Act > prog.Tanh {
		return nil, unsupported(o, "activation", o.Act)
	}
	return &gate{r, o}, nil
}

func compileActivate(r *rig, o prog.Activate) (op, error) {
	return compileGateMul(r, prog.GateMul{Gate: o.In, Up: prog.NoBuf, Out: o.Out, Act: o.Act})
}

func (o *gate) launches(b bucket) []launch {
	var a args
	a.at(o.step)
	a.at(o.buf(o.Out))
	a.at(o.buf(o.Gate))
	a.at(o.buf(o.Up))
	a.i32(int(o.Act))
	a.i32(o.width(o.Out))
	a.i32(o.ofLogits(o.Out))
	x := o.perValue("gate_mul", o.Out, b, a)
	x.makes = o.wholeRows(o.Out, b)
	return []launch{x}
}

// rowScale is prog.RowScale.
type rowScale struct {
	*rig
	prog.RowScale
}

func compileRowScale(r *rig, o prog.RowScale) (op, error) { return &rowScale{r, o}, nil }

func (o *rowScale) launches(b bucket) []launch {
	var a args
	a.at(o.step)
	a.at(o.buf(o.Dst))
	a.at(o.buf(o.Gate))
	a.i32(o.width(o.Dst))
	a.i32(o.ofLogits(o.Dst))
	return []launch{o.perRow("row_scale", o.Dst, b, rowThreads(o.width(o.Dst), actThreads), a)}
}

// rowThreads is the block for a row of so many values: whole warps, four values a
// thread if that makes a warp or more, at most most.
func rowThreads(width, most int) int {
	return min(32*int(ceilDiv(width, 4*32)), most)
}
