package cuda

import "github.com/paddock-go/paddock/internal/prog"

// normThreads is the most threads of a row.
const normThreads = 1024

// norm is prog.Norm.
type norm struct {
	*rig
	prog.Norm
}

func compileNorm(r *rig, o prog.Norm) (op, error) { return &norm{r, o}, nil }

func (o *norm) launches(b bucket) []launch {
	kernel := "norm_rms"
	if o.Norm.Norm == prog.LayerNorm {
		kernel = "norm_layer"
	}
	var a args
	a.at(o.step)
	a.at(o.buf(o.In))
	a.at(o.buf(o.Add))
	a.at(o.buf(o.Out))
	a.at(o.vector(o.W))
	a.at(o.vector(o.Bias))
	a.f32(o.Eps)
	a.i32(o.width(o.In))
	a.i32(o.ofLogits(o.In))
	x := o.perRow(kernel, o.In, b, rowThreads(o.width(o.In), normThreads), a)
	x.makes = o.wholeRows(o.Out, b)
	return []launch{x}
}
