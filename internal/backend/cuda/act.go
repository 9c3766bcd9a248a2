package cuda

import "github.com/paddock-go/paddock/internal/prog"

// actThreads is the block of the kernels that work value by value.
const actThreads = 256

// addTo is prog.AddTo.
type addTo struct {
	*rig
	prog.AddTo
}

func compileAddTo(r *rig, o prog.AddTo) (op, error) { return &addTo{r, o}, nil }

func (o *addTo) launches(b bucket) []launch {
	var a args
	width := o.width(o.Dst)
	a.at(o.step)
	a.at(o.buf(o.Dst))
	a.at(o.buf(o.Src))
	a.f32(o.Scale)
	a.i32(width)
	blocks := ceilDiv(o.rows(o.Dst, b)*width, actThreads)
	return []launch{{kernel: "add_to", grid: dims{blocks, 1, 1}, block: dims{actThreads, 1, 1}, args: a}}
}
